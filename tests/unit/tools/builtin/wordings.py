"""Questions in many wordings, each with the text of its result on 16 November 2026, 10:30 UTC.

The `_OTHER` ones are no calculations.
"""

ENGLISH = """
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
what is 12 monkeys about
"""
CHINESE = """
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
1000减1等于多少 => 999
"""
CHINESE_OTHER = """
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
"""
