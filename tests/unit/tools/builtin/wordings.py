"""Questions in many wordings, each with the text of its result on 16 November 2026, 10:30 UTC.

The `_OTHER` ones are no calculations.
"""

ENGLISH = """
if 35 percent of 180 people said yes, how many people is that => 63
20% of 50 students are absent. How many students is that? => 10
1 + 1 => 2
what's 17% of 240 => 40.8
What is 12 times 13? => 156
square root of 144 => 12
how many days until Christmas? => 39
What weekday is it today? => Monday
what's the date tomorrow => 2026-11-17 (Tuesday)
days between 3 March and 10 April 2025 => 38
how many days are in February 2024 => 29
what is 20 percent off 59.90 => 47.92
convert 5 km to miles => 3.10686
split 84 among 4 people => 21
what time is it in New York right now => 2026-11-16 05:30 EST (Monday, America/New_York)
What is 2 plus 2? => 4
how much is 15% of 80 => 12
what is seven times eight => 56
3*(4+5) => 27
12 x 13 => 156
2^10 => 1024
what is 100 divided by 7 => 14.2857142857
What's the square root of 2? => 1.4142135624
Calculate 45 * 12 => 540
please compute 1,234 + 5,678 => 6912
Can you tell me what 12 plus 30 is? => 42
what is one hundred and five minus twenty => 85
what's 5 squared? => 25
2 to the power of 8 => 256
what is 10 factorial => 3628800
What's the average of 3, 5 and 10? => 6
sum of 1, 2, 3, 4 => 10
add 15 and 27 => 42
subtract 5 from 20 => 15
multiply 6 by 7 => 42
divide 144 by 12 => 12
what percent of 80 is 20? => 25
20 is what percent of 80 => 25
increase 200 by 15% => 230
What's a 15% tip on $80? => 12
which is bigger, 9.11 or 9.9? => 9.9
what is 100 fahrenheit in celsius => 37.7778
how many feet are in a mile => 5280
how many minutes are in 3 hours? => 180
how many ounces in 2 pounds => 32
5 kg to lbs => 11.0231
what's today's date? => 2026-11-16 (Monday)
what day is it today? => 2026-11-16 (Monday)
what day of the week was 4 July 1976? => Sunday
how many days until new year? => 46
how many days between 2024-01-01 and 2024-03-01? => 60
how many weeks until Christmas => 5.6
what date is 90 days from now => 2027-02-14 (Sunday)
What date is it in 30 days? => 2026-12-16 (Wednesday)
what is the date 2 weeks from today? => 2026-11-30 (Monday)
is 2024 a leap year? => true
when is Easter? => 2027-03-28 (Sunday)
when is thanksgiving this year => 2026-11-26 (Thursday)
how many days in 2024 => 366
What time is it? => 2026-11-16 10:30 UTC (Monday)
what's the current time in Tokyo? => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
time in London now => 2026-11-16 10:30 GMT (Monday, Europe/London)
What year is it? => 2026
how many days since 1 January 2020? => 2511
what is 3/4 of 100 => 75
what's half of 250 => 125
twice 35 => 70
what is 8 + 5 * 2 = => 18
12+7=? => 19
what day is 25 December 2026 => Friday
what is the remainder when 17 is divided by 5 => 2
how old is someone born on 5 May 1990? => 36
240 + 17% => 280.8
What is 5 miles in kilometers? => 8.04672
How much is 20% off $50? => 40
what does 6 times 7 equal? => 42
what day will it be in 10 days => 2026-11-26 (Thursday)
what day is tomorrow? => 2026-11-17 (Tuesday)
how many days are left until Halloween? => 349
how many days left in the year? => 45
What is 9 * 9 - 1? => 80
what is 1/3 + 1/6 => 0.5
what's 15 percent of 200? => 30
What's 8 cubed => 512
how many seconds in a day? => 86400
What is 5!? => 120
99 minus 45 => 54
What is the sum of 12 and 30? => 42
how many days from 1 March to 1 May? => 61
What's 18 divided by 3 plus 2? => 8
whats 25 * 4? => 100
How much is 1250 divided by 5? => 250
what's the sum of 5, 10 and 15? => 30
Could you please calculate 18% of 650? => 117
what is 3 to the power of 4? => 81
What's 1000 minus 367? => 633
Can you multiply 23 by 17? => 391
what is 0.1 + 0.2? => 0.3
If I split $120 between 5 people, how much does each pay? => 24
What's 30% off 80 dollars? => 56
how many kilometers is 10 miles? => 16.09344
How many pounds is 70 kg? => 154.324
what's 72 degrees fahrenheit in celsius? => 22.2222
how many cups in a gallon => 16
what's the day today? => 2026-11-16 (Monday)
What's the date? => 2026-11-16 (Monday)
what is today's day of the week? => Monday
What day is it? => 2026-11-16 (Monday)
how many days till christmas => 39
How long until midnight UTC? => 810
how many hours until 6pm => 450
how long till 6:30 pm in Tokyo? => 1380
how much time is left to noon => 90
How many days until 1 January 2027? => 46
how many days are there between 1 May 2024 and 15 June 2024? => 45
what day of the week is July 4, 2026? => Saturday
how many days are in this month => 30
what will be the date in 3 weeks? => 2026-12-07 (Monday)
what date was it 100 days ago? => 2026-08-08 (Saturday)
What time is it in Tokyo? => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
what time is it in sydney australia => 2026-11-16 21:30 AEDT (Monday, Australia/Sydney)
current time in Paris => 2026-11-16 11:30 CET (Monday, Europe/Paris)
What's the time? => 2026-11-16 10:30 UTC (Monday)
Tell me the time in London. => 2026-11-16 10:30 GMT (Monday, Europe/London)
sqrt(81) => 9
sqrt 81 => 9
12 / 4 => 3
7*8-6 => 50
(12+8)/5 => 4
100-58= => 42
5+5 => 10
what is 15 x 15 => 225
cube root of 27 => 3
is 1900 a leap year? => false
How many days are there in 2028? => 366
what is 2/3 of 90 => 60
what's 50 plus 10%? => 55
what is 1 + 2 + 3 + 4 + 5? => 15
What's the average of 10, 20, 30? => 20
how many hours are in a week? => 168
how many inches in a foot? => 12
90 minutes in hours => 1.5
convert 100 celsius to fahrenheit => 212
how many grams are in 3 ounces => 85.048569375
What is nine plus ten? => 19
What is twelve squared? => 144
add 3, 4 and 5 => 12
what's 45 percent of 1,200? => 540
what is 1,000 times 3 => 3000
what's 2.5 * 4 => 10
9-5 => 4
how much is 3 plus 4 plus 5? => 12
Hey, what's 7 x 6? => 42
what is the median of 3, 9 and 4 => 4
what's the largest of 4, 19 and 7? => 19
how many days until Friday? => 4
what is 5 divided by 0 => ! Division by zero.
"""
ENGLISH_OTHER = """
how long until 6?
how many minutes until 25:00
how long to midnight mass
Book a table for 4
summarise: the meeting had 40 people and 3 rooms
who won the tour de france in 1987
write a poem about 7 cats
What is 42?
what is the meaning of life
Tell me about World War 2
what happened on 9/11?
What is 9/11?
is the shop open 24/7?
24/7
call me at 555-1234
+49 30 1234567
555-123-4567
2023-2024
what is a Boeing 747
How many people live in Tokyo?
how many cups of coffee per day is healthy
what is the capital of France
Give me 5 ideas for a party
list 3 things about rome
what's the weather tomorrow
what time is the meeting
what time does the train leave
what day is the concert
What is the date of the battle of Hastings?
How old is the universe?
how many days does it take to get to Mars
how long until we land on Mars?
when is the next solar eclipse
When is my birthday?
What are the 7 wonders of the world?
explain 2 + 2 = 4 to a child
who invented the number 0
Is 17 prime?
chapter 3 - 5 summary
I have 3 apples and 4 pears
What's new in Python 3.12?
convert this text to uppercase
convert 5 dollars to euros
split this sentence into words
Translate "one plus one" into French
what is H2O
what is C++
3 body problem
2 cats
order A7
where is order 12-34?
how many legs does a spider have
how many seasons of Friends are there
what is 5G
what is the average temperature in May
What's the time complexity of quicksort
what time zone is Berlin in
set a timer for 10 minutes
remind me in 2 days
how do I add 2 columns in excel
what is 1984 about
the sum of all fears
Show me a chart of the sales
hi
thanks!
half of my friends moved away
what is the square of a triangle
top 10 movies of 2020
what's 4x4 driving
score was 3-2
What can you do for me?
Write a haiku about autumn
Cancel order A7 please
Tell me a joke
How many planets are there?
how many hours should I sleep
how many days in a row has it rained
what is the plus one rule
what's the score of the 3-2 game
what are the odds
how much is a ticket to Paris
How much is the fish?
how much does a 2 bedroom flat cost
What is 21st century art
what's 50 cent's real name
who is 007
what's Area 51
explain the number pi
what is the 5 second rule
what is e=mc^2
when is the best time to visit Japan
What day did WW2 end?
how many days was the Apollo 11 mission
what time is dinner
what is the time signature of a waltz
when was Easter 1916 rising
how many miles is a marathon
How many stars are on the US flag?
Do you have a table for 2 at 8?
Reserve 2 seats for tomorrow
I need 3 tickets for 24 December
Show sales for 2024
add 2 apples to my cart
multiply and conquer
divide the class into 4 groups
split the bill
take 5
high five
what's the difference between 4G and 5G
convert this pdf to word
how old is Obama
what's 1 and 1
time flies
What time is it in the movie Inception?
convert 5 apples to oranges
24 hours in a day is not enough
days between us
how long until the bus comes
what's next Friday's meeting about
5!
what is love
How many days are in a week of work?
what is 5 dollars in euros
The price is $5 + tax
how many people are 7 feet tall
what's the difference between a crocodile and an alligator
pick a number between 1 and 10
what day is best for a picnic
is 5 a lucky number
how many days until next friday
what is 12 monkeys about
"""
CHINESE = """
一件外套原价399块，打八五折后多少钱？ => 339.15
一双鞋标价500元，现在打七折，要多少钱 => 350
离下午六点还有多久？ => 450
到晚上八点半还有几个小时 => 600
距离午夜还有多长时间 => 810
北京离中午12点还有多久 => 1050
1+1等于几 => 2
125乘以8等于多少 => 1000
2024年的2月有多少天？ => 29
今天星期几 => Monday
三加五等于几 => 8
100的15%是多少 => 15
距离元旦还有多少天 => 46
北京现在几点 => 2026-11-16 18:30 CST (Monday, Asia/Shanghai)
请问 12 × 13 等于多少？ => 156
一百二十五乘以八等于多少 => 1000
144的平方根是多少 => 12
根号144等于多少 => 12
2的10次方是多少 => 1024
5的平方是多少 => 25
一千减去三百五十等于多少 => 650
81除以9等于几 => 9
100除以7等于多少？ => 14.2857142857
(3+4)*5=? => 35
3、5、10的平均数是多少 => 6
3和5的和是多少 => 8
1，2，3，4的总和是多少 => 10
20占80的百分之几 => 25
百分之十五的200是多少 => 30
200的百分之十五是多少 => 30
9.11和9.9哪个大？ => 9.9
5公里等于多少英里 => 3.10686
10公斤是多少磅 => 22.0462
100华氏度是多少摄氏度 => 37.7778
一英里等于多少公里 => 1.609344
一天有多少小时 => 24
3小时有多少分钟 => 180
把5英里换算成公里 => 8.04672
今天几号？ => 2026-11-16 (Monday)
今天是几月几号 => 2026-11-16 (Monday)
明天星期几 => Tuesday
昨天是几号 => 2026-11-15 (Sunday)
后天是星期几？ => Wednesday
现在几点了？ => 2026-11-16 10:30 UTC (Monday)
纽约现在几点？ => 2026-11-16 05:30 EST (Monday, America/New_York)
现在东京是几点 => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
距离圣诞节还有几天 => 39
离春节还有多少天？ => 82
国庆节还有多少天 => 319
2024年1月1日到2024年3月1日有多少天 => 60
3月3日到4月10日有多少天 => 38
2024年是闰年吗？ => true
2024年有多少天 => 366
100天后是几号 => 2027-02-24 (Wednesday)
100天后是星期几 => Wednesday
30天前是几月几号 => 2026-10-17 (Saturday)
2026年10月1日是星期几 => Thursday
中秋节是哪天？ => 2027-09-15 (Wednesday)
今年春节是几号 => 2026-02-17 (Tuesday)
今年是哪一年？ => 2026
84元平均分给4个人，每人多少？ => 21
把84分给4个人每人多少 => 21
100元打八折是多少 => 80
200打七五折是多少钱 => 150
5的阶乘是多少 => 120
17除以5的余数是多少 => 2
帮我算一下 35*12 => 420
请计算 3.5 + 4.2 => 7.7
两百五十加三十等于多少 => 280
8乘7 => 56
250的一半是多少 => 125
三分之一加六分之一等于多少 => 0.5
2月有多少天 => 28
12和18的最大公约数是多少 => 6
200增加15%是多少 => 230
２＋３＝？ => 5
今天是周几啊 => Monday
伦敦几点了 => 2026-11-16 10:30 GMT (Monday, Europe/London)
15加27是多少 => 42
36除以6是多少？ => 6
99乘99等于多少 => 9801
七乘八等于多少 => 56
请问100减37等于几？ => 63
一百的百分之二十是多少 => 20
200的30%是多少？ => 60
3的4次方等于多少 => 81
81的平方根 => 9
25*4=？ => 100
(12+8)÷5 => 4
5英尺是多少厘米 => 152.4
70公斤等于多少磅？ => 154.324
37摄氏度等于多少华氏度 => 98.6
1小时等于多少秒 => 3600
今天是星期几？ => Monday
今天是几号？ => 2026-11-16 (Monday)
今天几月几日 => 2026-11-16 (Monday)
明天是几号 => 2026-11-17 (Tuesday)
明天是星期几 => Tuesday
现在几点？ => 2026-11-16 10:30 UTC (Monday)
现在是几点钟 => 2026-11-16 10:30 UTC (Monday)
东京现在几点了 => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
伦敦现在是什么时间 => 2026-11-16 10:30 GMT (Monday, Europe/London)
纽约时间现在几点 => 2026-11-16 05:30 EST (Monday, America/New_York)
离圣诞节还有多少天？ => 39
距离2027年1月1日还有多少天 => 46
到春节还有几天 => 82
2026年2月有几天 => 28
2000年是闰年吗 => true
2026年7月4日是星期几 => Saturday
下周五是几号 => 2026-11-27 (Friday)
3天后是几号 => 2026-11-19 (Thursday)
两周后是几号 => 2026-11-30 (Monday)
10和25的平均数是多少 => 17.5
3加4乘5等于多少 => 23
1到10的和是多少 => 55
八十打九折是多少 => 72
12的阶乘 => 479001600
2024年3月1日到2024年5月1日一共多少天 => 61
120元5个人平分，每人多少钱 => 24
1.5乘以4等于多少 => 6
1万加2千等于多少 => 12000
9.9和9.11哪个更大 => 9.9
50的一半 => 25
1000减1等于多少 => 999
下下周一是几号 => 2026-11-30 (Monday)
本周日是几号 => 2026-11-22 (Sunday)
上周三是几号 => 2026-11-11 (Wednesday)
周五是几号 => 2026-11-20 (Friday)
"""
CHINESE_OTHER = """
离6点还有多久
3件外套原价399块，打八五折多少钱
离1十点还有多久
帮我订一张4人的桌子
写一首关于7只猫的诗
法国的首都是哪里？
谁赢得了1987年的环法自行车赛
总结一下：会议有40人参加
东京有多少人
一年有四个季节，分别是什么
介绍一下第二次世界大战
三国演义讲了什么
今天天气怎么样
明天会下雨吗
会议是几点
火车几点开
我的生日是哪天
列出5个好主意
给我讲3个笑话
什么是5G
9月11日发生了什么
订单A7在哪里
一加手机好用吗
十全十美是什么意思
百分之百是什么意思
九寨沟在哪里
三个和尚没水喝是什么意思
2024年奥运会在哪里举行
世界上有多少个国家
一个西瓜多少钱
北京有多少人口
地球到月球有多远
从北京到上海要多少小时
他今年几岁
几点了开会
中秋节吃什么
春节有什么习俗
你好
谢谢
把这句话翻译成英文：一加一等于二
比特币现在多少钱
我有3个苹果和4个梨
第3章讲什么
1984讲了什么
七上八下是什么意思
现在是什么季节
乘法口诀是什么
什么是平方根
平均数是什么意思
加拿大有多少天下雪
减肥要多少天
除夕是什么
鲁迅活了多少岁
你能做什么
写一首关于秋天的俳句
取消订单A7
给我讲个笑话
太阳系有几颗行星
一天应该喝多少水
一天睡几个小时好
五一去哪里玩
十一放几天假
春节放几天假
国庆节放假多少天
今天有什么新闻
几点开会
现在做什么好
我现在在北京
现在北京天气怎么样
百度是什么
万达广场在哪里
七夕是哪天的节日
三月有什么花
2月14日送什么
双十一是什么
加一个苹果到购物车
一半一半
二战持续了多少天
减五斤要多少天
4个人去吃饭
明天几点出发
明天去几号楼
几号线去机场
2号线怎么走
这个月有什么活动
半年有多少天没见了
1号店怎么样
五湖四海是什么意思
两只老虎怎么唱
我今年30岁，身高180
帮我写一封100字的邮件
三星手机怎么样
2025年有什么新电影
第一次世界大战持续了几年
一公斤苹果多少钱
北京时间是什么意思
圣诞节送什么礼物
今天吃什么
100个常用汉字
1到10有多少
从3到5
3到5天
"""
