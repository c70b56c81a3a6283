"""Word problems and other natural wordings, each with its result on 16 November 2026, 10:30 UTC; the others have none.

One half was written down and left alone until the recognizers were done: see `split_half`.
"""

PROBLEMS = """
5832/24 => 243
5832/24? => 243
1984/16 = => 124
7200/45 please => 160
1250-375 => 875
hey what's 5832 / 24 => 243
got the time? utc is fine => 2026-11-16 10:30 UTC (Monday)
my sister lives in Singapore, what time is it for her now? => 2026-11-16 18:30 +08 (Monday, Asia/Singapore)
I have a call with a client in Berlin. What time is it there? => 2026-11-16 11:30 CET (Monday, Europe/Berlin)
what month and year are we in => 2026-11-16 (Monday)
which year is it now? => 2026
whats todays date pls => 2026-11-16 (Monday)
do you happen to know what day it is today => 2026-11-16 (Monday)
What time would it be in Tokyo right now? => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
time in nyc? => 2026-11-16 05:30 EST (Monday, America/New_York)
a friend just moved to Sydney, what's the time over there now? => 2026-11-16 21:30 AEDT (Monday, Australia/Sydney)
what is the current date please => 2026-11-16 (Monday)
which month are we in right now => 2026-11-16 (Monday)
I'm at a restaurant, the bill is $84 and I want to leave a 20% tip. How much is the tip? => 16.8
quick question: 18% tip on a 62.50 bill, how much? => 11.25
dinner was 120 dollars, whats 15 percent tip => 18
The bill came to $96 and there are 4 of us. How much does each of us pay? => 24
we are 6 people and the bill is 150, how much each? => 25
split a 240 dollar bill between 8 friends => 30
3 friends share 45 euros equally, how much does each one get? => 15
apples cost $3 per kg. how much do 4 kg cost? => 12
Eggs are 2.40 a dozen, how much for 5 dozen? => 12
a ticket is 12.50, how much are 4 tickets? => 50
How much do I pay for 7 notebooks at 2.20 each? => 15.4
i bought 3 shirts at 15 dollars each. what did i pay in total? => 45
If one pen costs 1.20, what do 15 pens cost? => 18
I buy 6 bottles of water for 0.80 euro each, how much is that altogether? => 4.8
gas is 1.75 a liter and i need 40 liters, whats the total => 70
One coffee costs €3.20. How much are 5 coffees? => 16
I pay with a 50 note and the total is 37.20, how much change do I get? => 12.8
my lunch was $13.75, i gave the cashier a 20, how much change should i get back => 6.25
How much change from a 100 bill if I spend 64.30? => 35.7
a jacket costs $80 and is 25% off, how much is it now? => 60
shoes were 120, now 30 percent off. whats the new price? => 84
The original price is 250 euros with a discount of 15%. What do I have to pay? => 212.5
tv for 600 with 10% discount, final price? => 540
price is 49.90 plus 19% VAT, what's the total? => 59.381
A laptop costs 900 before tax. With 8% sales tax how much is it? => 972
A car drives 60 mph for 3 hours. How far does it go? => 180
i drove 240 km in 3 hours, what was my average speed? => 80
How long does it take to drive 300 km at 100 km/h? => 3
if a train goes 120 km/h how far does it get in 2.5 hours => 300
we walked 5 km/h for 4 hours, how far did we walk? => 20
I earn 18 dollars an hour and work 35 hours a week. How much do I make per week? => 630
He works 8 hours a day for 5 days. How many hours is that in total? => 40
I read 25 pages a day. How many pages do I read in 14 days? => 350
my rent is 850 a month, how much is that for 12 months => 10200
a book has 320 pages and i read 20 pages per day, how many days do i need? => 16
There are 24 students and 6 tables. How many students per table? => 4
i have 48 cookies and 6 kids, how many cookies does each kid get? => 8
Tom has 15 apples and gives away 6. How many apples are left? => 9
sarah had 30 stickers, she lost 12 of them, how many does she have left? => 18
I have 5 cats and I get 3 more. How many cats do I have now? => 8
there were 18 birds on a tree, 7 flew away. how many are left => 11
Anna is 34 and her brother is 5 years younger. How old is her brother? => 29
I'm 27 and my sister is 4 years older than me, how old is she? => 31
lunch 12.50, coffee 3.80 and a taxi 18: what did I spend in total? => 34.3
I spent 20 on food, 15 on gas and 42 on clothes. How much did I spend altogether? => 77
milk 1.20, bread 2.50, cheese 4.30, total? => 8
What is 12 times 12 and then minus 44? => 100
take 15, multiply it by 4 and add 10 => 70
25 plus 17, then divided by 6 => 7
what do you get if you add 45 to 55 and divide by 4 => 25
start with 100, subtract 36, then divide by 8 => 8
could you work out 37 times 21 for me please? => 777
Hi there! Can you help me with some math? What is 845 divided by 13? => 65
my homework says 14 * 23, what's the answer? => 322
so uh whats 250 + 125 + 75 => 450
what would 3 times 19.99 be => 59.97
how much would 12% of 350 be => 42
what's eighteen times four => 72
My salary is 3200 and I get a 5% raise. What is my new salary? => 3360
Rent is 1200 and goes up by 4%, what will it be? => 1248
the population was 50000 and fell by 10 percent, how many now? => 45000
I got 42 out of 60 points, what percentage is that? => 70
18 of 24 students passed. What percent is that? => 75
what percentage is 45 out of 180? => 25
price went from 80 to 100, what's the percentage increase? => 25
I want to convert 180 cm to inches => 70.8661
how tall is 6 feet in cm? => 182.88
the recipe says 350 fahrenheit, what is that in celsius? => 176.667
my bag weighs 23 kg, how many pounds is that? => 50.7063
I ran 10 km today, how many miles is that? => 6.21371
how many minutes is 2.5 hours? => 150
can you tell me how many days there are until christmas? => 39
how many days is it from today until new year's eve => 45
My exam is on 12 December, how many days do I have left? => 26
I need 3 boxes with 12 eggs each. How many eggs is that? => 36
There are 7 rows with 9 chairs in each row. How many chairs are there? => 63
a parking garage has 4 floors with 85 spaces each, how many spaces in total => 340
half a dozen donuts at 1.50 each, how much => 9
A room is 5 m long and 4 m wide. What is the area? => 20
garden is 12 by 8 meters, what's its area? => 96
what is the perimeter of a rectangle 6 cm by 4 cm? => 20
what's the average of my grades 85, 92 and 78? => 85
three people pay 25 euros each, how much is it in total? => 75
If I save $50 every month, how much will I have after 2 years? => 1200
I save 20 euros a week. How much is that in 10 weeks? => 200
2 coffees at 3.50 and 1 cake at 4.20, how much is it? => 11.2
i bought 2 books for 12 each and 3 pens for 2 each, total? => 30
one pizza is 11.50. i order 4 and pay with a 50 euro note. how much do i get back? => 4
a shirt is 40 with 20% off and i buy 2, how much in total? => 64
The bill is 80 with a 20% tip split between 4 people, how much does each pay? => 24
My phone plan is 29.99 per month, what does it cost me per year? => 359.88
48乘25再减去200是多少 => 1000
鸡蛋6块8一斤，买5斤一共要多少钱？ => 34
苹果5元一斤，我买了3斤，要付多少钱 => 15
西红柿3块5一斤，买4斤多少钱？ => 14
一斤猪肉18块，半斤多少钱 => 9
牛肉45元一斤，买两斤半要多少钱 => 112.5
一支笔2元，买12支要多少钱？ => 24
一个本子3.5元，小明买了4个，一共花了多少钱？ => 14
电影票一张45块，4个人去看要多少钱 => 180
奶茶15块一杯，我要6杯，总共多少 => 90
鸡蛋一打12元，买3打多少钱 => 36
我买了3件衣服，每件80元，一共多少钱？ => 240
每天跑5公里，一个星期跑多少公里？ => 35
每本书25元，买8本需要多少钱 => 200
买东西花了67元，给了100块，找多少钱？ => 33
我付了50元，东西是36块5，应该找我多少 => 13.5
你好，请帮忙算一下，36.8元的东西，付100元，找回多少？ => 63.2
原价200元的鞋子打八折，现在多少钱？ => 160
一件毛衣原价300块，打七五折要多少钱？ => 225
手机2000元，便宜10%，要付多少钱 => 1800
衣服标价450，打6折是多少钱 => 270
餐厅吃饭花了360元，5个人平摊，每人多少钱？ => 72
一共消费480块，我们6个人AA，每人付多少 => 80
把120个苹果平均分给8个小朋友，每人几个？ => 15
45颗糖分给9个孩子，每个孩子几颗 => 5
汽车每小时行驶80公里，3小时能走多少公里？ => 240
一辆车速度是60公里每小时，开了2.5小时，走了多远？ => 150
从家到公司30公里，开车用了0.5小时，平均速度是多少？ => 60
两地相距360公里，时速90公里，要开几个小时？ => 4
小明有15个苹果，吃了6个，还剩几个？ => 9
妈妈给了我50块，我花了18块，还剩多少钱 => 32
树上有12只鸟，飞走了5只，还有几只？ => 7
我有20本书，又买了8本，现在一共有几本？ => 28
爸爸今年38岁，我比他小26岁，我今年几岁？ => 12
小红10岁，哥哥比她大5岁，哥哥几岁 => 15
早餐8元，午餐25元，晚餐32元，一天一共花了多少钱？ => 65
打车花了23块，吃饭花了45块，一共多少钱 => 68
牛奶12块，面包8块5，总共多少 => 20.5
15加上27再除以6等于多少 => 7
先用30乘以4，然后减20，结果是多少 => 100
100减去36然后除以8得多少 => 8
12乘以12，再加6，等于几 => 150
25加17的和再乘以2是多少 => 84
请问一下365除以5是多少呀？谢谢！ => 73
老师布置的作业：1250÷25等于多少？ => 50
能不能帮我算算 88 乘以 12 等于几 => 1056
在吗？帮我算个数，3600除以24 => 150
3.14乘以5的平方是多少 => 78.5
工资6000元，涨了5%，现在是多少？ => 6300
房租3000，涨价10%后是多少钱 => 3300
考试100道题做对了85道，正确率是多少？ => 85
全班40人，30人及格，及格率是百分之几？ => 75
我月薪8000，每个月存20%，能存多少钱？ => 1600
180厘米等于多少英寸 => 70.8661
我身高6英尺，是多少厘米？ => 182.88
我体重130斤，是多少公斤？ => 65
跑了5公里，换算成英里是多少 => 3.10686
我朋友在伦敦，他那边现在几点？ => 2026-11-16 10:30 GMT (Monday, Europe/London)
我女儿在纽约读书，那边现在几点了 => 2026-11-16 05:30 EST (Monday, America/New_York)
现在是几月份啊 => 11
请问今天是几月几号 => 2026-11-16 (Monday)
今天几号星期几？ => 2026-11-16 (Monday)
帮我看看现在几点了 => 2026-11-16 10:30 UTC (Monday)
今年是哪年来着 => 2026
我下个月12月20号考试，还有多少天？ => 34
一个房间长5米宽4米，面积是多少平方米？ => 20
一盒有12个鸡蛋，5盒一共有多少个鸡蛋？ => 60
每排有8个座位，一共15排，总共有多少座位 => 120
时薪25元，一天工作8小时，一天赚多少钱？ => 200
我每个月存1500元，一年能存多少钱？ => 18000
一本书240页，每天看20页，几天能看完？ => 12
3个苹果和2个梨一共几个水果 => 5
买3斤苹果，每斤6元，再买2斤香蕉，每斤4元，一共多少钱？ => 26
一杯咖啡28元，买4杯打八折，一共多少钱？ => 89.6
一千二百块钱三个人平分，每人多少 => 400
"""

NOT_PROBLEMS = """
9/11
24/7
50/50
7-Eleven
3/4/2024
12/25
what happened on 9/11
555-1234
call 0800 123 456
(555) 123-4567
1-800-555-0199
version 3.11
python 3.11 vs 3.12
is python 3.12 faster than 3.11?
the score was 3-2
4x4
16:9
a ratio of 3:1
mix it 2:1 with water
half the people left early
two thirds of voters stayed home
3-5 business days
open 9-5
we are open 9-17
2020-2024
2024-11-16
chapters 3-7
pages 10-20 please
A7/B2
http 404
192.168.0.1
10.0.0.1/24
192.168.1.0/24
MH370
F-16
area 51
R2-D2
1080p or 720p
ISO 9001
route 66
5-star hotel
a 10-year-old boy
What is a 401k?
what does 5G cost?
my flight is at 10:30 and lands at 12:45
flight LH 454 at 10:15
book a table for 4 at 7 pm
I'm 27 and I live in Berlin. What should I cook?
I have 2 kids and 3 cats. What should I name the new dog?
we are 6 people, can you recommend a game?
My order 4711 has 3 items, where is it?
Please summarize: revenue was 40 million in 2023 and 50 million in 2024.
how much does a Tesla cost?
how much is 1 bitcoin
how much is a ticket from Berlin to Paris for 2 people
What is the price of 3 apples?
how many calories are in 2 eggs
I bought 3 shirts for 15 dollars each on 12 May at 3 pm, when can I return them?
I bought 3 apples. How much did I pay?
Apples cost $3 per kg and pears $4 per kg. How much do 4 kg cost?
A car drives 60 mph. How far does it go?
A train with 8 cars drives 120 km/h for 2 hours. How far does it go?
Tom is 34 and has 2 children aged 5 and 7. How old is his wife?
I have 5 apples and 3 pears. How many oranges do I have?
A farmer has 17 sheep and all but 9 die. How many are left?
If 5 machines make 5 widgets in 5 minutes, how long do 100 machines need for 100 widgets?
A bat and a ball cost $1.10 in total. The bat costs $1 more than the ball. How much is the ball?
i earn 50000 a year, is that good?
My salary is 3200 and my rent is 900, can I afford a car?
The bill is $84 for 4 people on table 12, how much tip is usual?
What tip should I leave on a $50 bill?
Is a 20% tip too much?
is 15% alcohol strong
what is a 30 year fixed mortgage at 6%?
convert 100 dollars to yen
how many euros is 50 pounds?
what's 20 years in dog years
If I leave at 9 and drive 3 hours, when do I arrive?
my meeting is at 3pm, what time is it in the agenda?
what time should I call my sister in Singapore?
my sister lives in Singapore, what should I buy her?
what time does the sun set in Singapore
what year did she move to Singapore
what month is best to visit Japan
which year was the moon landing
what's the date of the meeting
got time for a chat?
do you have a minute
what time is it on Mars
what time is it in Narnia
my sister lives in Singapore and my brother in London, what time is it for them?
write a story about a man who splits 100 coins between 4 people
explain how to split a bill between 4 people
Why is 7 times 8 equal to 56?
prove that 2 + 2 = 4
write a python function that adds 2 and 3
translate: I have 3 apples and 5 pears, how many fruits do I have?
how do I calculate 15% of something in excel?
what's the probability of rolling two 6s?
if it takes 3 hours to dry 3 shirts, how long for 9 shirts?
two trains leave at 60 mph and 80 mph, when do they meet?
The temperature fell from 12 to 5 and then rose to 9. What's the weather like?
room 12 has 30 chairs, room 14 is empty. which room is bigger?
I walked 3 miles in 2 days in 5 parks. How far did I walk?
My son is 5 and wears size 28, how much will he grow?
The house is 120 sqm and costs 450000, is that expensive?
add 3 eggs and 200 g sugar
double the recipe for 4 people
what's 3 apples plus 4 oranges minus the tax
how many people can 2 pizzas feed
how much paint do I need for a 5 by 4 meter wall
how long do I boil 6 eggs
how many weeks pregnant is 5 months
buy 2 get 1 free
what does 2 for 1 mean
4 8 15 16 23 42
what comes next: 2, 4, 8, 16?
1,2,3
100%
$5
5'11"
my password is 12345
pi is 3.14
there are 3 + reasons
terminal 2 gate 14, how far is it?
Room 5 x Team 4
24小时营业吗
3月15日
电话13800138000
我的电话是010-12345678
3:2的比分
比例是3比1
第5章第3节
1/2的人同意
5G和4G有什么区别
我买了3个苹果，送给谁好？
小明有15个苹果，他妈妈几岁？
苹果多少钱一斤
鸡蛋6块8一斤，贵吗？
买5斤鸡蛋，几点去好？
我今年27岁，在北京工作3年了，工资应该多少？
一个西瓜3块，一个哈密瓜5块，买2个多少钱？
从北京到上海1200公里，坐飞机要多少钱？
一共有30人，2号桌坐了几个人？
会议10点开始，3个小时，几点结束？
航班CA1234几点到
帮我订4个人的位子，晚上7点
三十而立是什么意思
一石二鸟
七八个人
百分之百
我朋友在伦敦，送他什么礼物好
我朋友在火星，他那边现在几点
伦敦几点天黑
写一个关于小明有5个苹果吃了2个还剩几个的故事
翻译：我有3个苹果，吃了1个，还剩几个？
解释一下为什么3乘8等于24
打8折是什么意思
比赛打到2比1
鸡和兔共35只，脚94只，各有几只？
小明每天跑步5公里，体重60公斤，一周瘦多少
房子100平米，总价300万，贵不贵
3个人5天做完，6个人几天做完？
水费3块5，电费多少
一个班有40人，男生22人，几个老师？
2024年比2023年热吗
K1234次列车
180/60的房间
四舍五入是什么意思
他跑了3公里用了20分钟，心率150，速度快吗
"""

TABLES = {
    "JOB": "| task | hours | rate |\n|---|---|---|\n| design | 6 | 40 |\n| coding | 10 | 55 |\n| testing | 4 | 30 |\n",
    "SHOP": "item,price,qty\npens,1.50,10\nbooks,12.00,3\nbags,25.00,2\ncups,4.50,6\n",
    "TEAM": "name | department | salary | age\nAnn | sales | 4200 | 31\nBob | IT | 5100 | 45\nCid | sales | 3900 | 28\n"
    "Dee | IT | 6000 | 39\nEve | legal | 5500 | 52\n",
    "RUNS": "date\tkm\tminutes\n2026-11-01\t5.2\t30\n2026-11-04\t8.0\t47\n2026-11-09\t10.5\t64\n2026-11-12\t3.1\t18\n",
    "ELECTRIC": "month,bill\nJan,210\nFeb,180\nMar,156\nApr,134\n",
    "GOODS_ZH": "商品,单价,数量\n苹果,5,10\n香蕉,3,20\n橙子,6,8\n西瓜,12,2\n",
    "CLASS_ZH": "| 姓名 | 语文 | 数学 |\n|---|---|---|\n"
    "| 王芳 | 88 | 92 |\n| 李强 | 75 | 81 |\n| 张伟 | 90 | 67 |\n| 刘洋 | 82 | 95 |\n",
    "CITY_ZH": "城市\t人口\t面积\n成都\t2100\t14335\n杭州\t1200\t16850\n西安\t1300\t10752\n",
}

TABLE_PROBLEMS = """
JOB | What does the whole job cost? => The total cost is 910.
JOB | how much will everything cost in total? => The total cost is 910.
JOB | whats the total cost pls => The total cost is 910.
JOB | How many hours is that all together? => The total hours is 20.
JOB | Which task takes the longest? => coding: 10.
JOB | what's the hourly rate for testing? => testing: 30.
JOB | how many hours does coding take? => coding: 10.
JOB | How much does design cost? => The total cost is 240.
JOB | what is the average rate => The average rate is 41.67.
JOB | which task has the highest rate? => coding: 55.
SHOP | What do I have to pay for everything? => The total cost is 128.
SHOP | how much is the whole order? => The total cost is 128.
SHOP | How many items cost more than 5? => There are 2.
SHOP | how many products cost less than 10 => There are 2.
SHOP | what's the most expensive thing on the list? => bags: 25.
SHOP | cheapest item? => pens: 1.5.
SHOP | top 2 most expensive items => - bags: 25 - books: 12
SHOP | how much do the books cost in total? => The total cost is 36.
SHOP | Can you tell me how many different items there are? => There are 4.
SHOP | how much more expensive are bags than cups? => The difference is 20.5.
SHOP | total quantity? => The total qty is 21.
SHOP | i'm in a hurry - what's the average price here? => The average price is 10.75.
TEAM | who makes the most money? => Dee: 6000.
TEAM | Who is the youngest person on the team? => Cid: 28.
TEAM | what is the average salary in sales? => The average salary is 4050.
TEAM | total salary of the IT department => The total salary is 11100.
TEAM | How many people earn more than 5000? => There are 3.
TEAM | how many people work in sales? => There are 2.
TEAM | Who is older than 40? => - Bob: 45 - Eve: 52
TEAM | List everyone who earns at least 5100 => - Bob: 5100 - Dee: 6000 - Eve: 5500
TEAM | what does Bob earn? => Bob: 5100.
TEAM | how old is Dee? => Dee: 39.
TEAM | top 3 salaries => - Dee: 6000 - Eve: 5500 - Bob: 5100
TEAM | Hi! Could you please tell me the highest salary? => Dee: 6000.
TEAM | average age of the team? => The average age is 39.
TEAM | how much more does Dee earn than Ann? => The difference is 1800.
RUNS | how far did I run in total? => The total km is 26.8.
RUNS | how many km did I run on 2026-11-04? => 2026-11-04: 8.
RUNS | average minutes per run? => The average minutes is 39.75.
RUNS | how many runs were longer than 5 km? => There are 3.
ELECTRIC | what did I pay in total? => The total bill is 680.
ELECTRIC | which month was the most expensive? => Jan: 210.
ELECTRIC | average monthly bill? => The average bill is 170.
ELECTRIC | how much was March? => Mar: 156.
ELECTRIC | in which months was the bill over 160? => - Jan: 210 - Feb: 180
ELECTRIC | What's the difference between January and April? => The difference is 76.
GOODS_ZH | 全部买下来一共要多少钱？ => 总金额是 182。
GOODS_ZH | 总价是多少 => 总金额是 182。
GOODS_ZH | 哪种商品最贵？ => 西瓜：12。
GOODS_ZH | 单价最低的是哪个 => 香蕉：3。
GOODS_ZH | 香蕉一共多少钱？ => 总金额是 60。
GOODS_ZH | 单价超过5的商品有几种？ => 共 2 个。
GOODS_ZH | 哪些商品数量少于10？ => - 橙子：8 - 西瓜：2
GOODS_ZH | 总共有多少件商品？ => 数量合计是 40。
GOODS_ZH | 平均单价多少 => 平均单价是 6.5。
GOODS_ZH | 麻烦看一下苹果的单价 => 苹果：5。
CLASS_ZH | 数学最高分是谁？ => 刘洋：95。
CLASS_ZH | 语文平均分是多少？ => 平均语文是 83.75。
CLASS_ZH | 数学90分以上的有几个人？ => 共 2 个。
CLASS_ZH | 张伟的语文考了多少分 => 张伟：90。
CLASS_ZH | 谁的数学最差？ => 张伟：67。
CLASS_ZH | 王芳数学比李强高多少分？ => 相差是 11。
CLASS_ZH | 语文低于85分的都有谁？ => - 李强：75 - 刘洋：82
CLASS_ZH | 数学前两名是谁？ => - 刘洋：95 - 王芳：92
CITY_ZH | 哪个城市面积最大？ => 杭州：16850。
CITY_ZH | 三个城市总人口是多少？ => 人口合计是 4600。
CITY_ZH | 西安的人口有多少 => 西安：1300。
CITY_ZH | 人口最少的城市是哪座？ => 杭州：1200。
CITY_ZH | 成都比西安多多少人？ => 相差是 800。
"""

OTHER_TABLE_PROBLEMS = """
JOB | Which task is the most difficult?
JOB | who does the coding?
JOB | When will the job be done?
JOB | how many days does the job take?
JOB | what is the cost of materials?
JOB | is the rate for coding fair?
JOB | What would the job cost with 2 more hours of testing?
JOB | what does marketing cost?
JOB | How much is the tax on the whole job?
JOB | what does the whole job cost with a 10% discount?
SHOP | which item is the best?
SHOP | how much does shipping cost?
SHOP | how many pencils do we have?
SHOP | what's the total weight?
SHOP | how many customers bought pens?
SHOP | What does a pen cost in euros?
SHOP | what did everything cost last year?
SHOP | can i pay by card?
SHOP | what's the profit?
SHOP | What do 5 pens cost?
TEAM | who is the nicest?
TEAM | who has worked here the longest?
TEAM | what is Frank's salary?
TEAM | how many people work in marketing?
TEAM | what is the average height?
TEAM | who should get a raise?
TEAM | how much tax does Bob pay?
TEAM | who is between 30 and 40?
TEAM | how many people are not in sales?
TEAM | what does Bob earn per hour?
RUNS | when is my next run?
RUNS | What was my longest run?
RUNS | what was my fastest run?
RUNS | how many calories did I burn?
RUNS | what is my average pace?
RUNS | was I faster on 2026-11-04 than on 2026-11-01?
ELECTRIC | what will May cost?
ELECTRIC | why was January so expensive?
ELECTRIC | how many kWh did we use?
ELECTRIC | what was the water bill in March?
GOODS_ZH | 哪种商品最好吃？
GOODS_ZH | 葡萄多少钱？
GOODS_ZH | 买3个西瓜多少钱？
GOODS_ZH | 利润是多少？
GOODS_ZH | 运费多少钱？
GOODS_ZH | 打八折后一共多少钱？
CLASS_ZH | 谁的英语最好？
CLASS_ZH | 谁最高？
CLASS_ZH | 赵敏数学多少分？
CLASS_ZH | 数学不及格的有几个？
CLASS_ZH | 男生有几个？
CITY_ZH | 哪个城市最好玩？
CITY_ZH | 重庆人口多少？
CITY_ZH | 成都的气温是多少？
CITY_ZH | 人口密度最大的是哪个？
CITY_ZH | 从成都到西安多远？
"""


def split_half(text: str, *, held: bool) -> list[str]:
    """Return the half of the lines that was developed on, or the half that was held back."""
    return [line for line in text.strip().splitlines() if (sum(line.encode()) % 2 == 1) is held]
