"""Further wordings, written after the recognizers and asked once before they were mended by them."""

MORE_PROBLEMS = """
ok so im at the supermarket, yogurts are 0.89 each and i grabbed 12, what's the damage in total? => 10.68
Good evening. Would you be so kind as to tell me what 17 times 23 is? => 391
im paying 9.99 a month for music, how much is that a year => 119.88
Our hotel is 110 euros per night and we stay 4 nights. What will we pay? => 440
If petrol costs 1.62 per litre, how much do 50 litres cost? => 81
a pack has 6 beers. how many beers are in 8 packs? => 48
My commute is 18 km each way. => NONE
What's the price of a 75 dollar sweater after a 40% discount? => 45
60 dollar shoes at 15% off? => 51
My restaurant bill was 48.60 and I'd like to tip 10 percent, how much is that? => 4.86
There are 5 shelves with 24 books on each shelf. How many books are there altogether? => 120
a bus has 42 seats, 17 are taken, how many seats are left? => 25
I had 200 dollars and spent 65. How much money do I have left? => 135
The recipe needs 250 g flour per cake. How much flour do I need for 3 cakes? => 750
My car uses 6 liters per 100 km. => NONE
I cycle 15 km per hour. How far do I get in 4 hours? => 60
a plane covers 2400 km in 3 hours. how fast is it? => 800
5 colleagues share a taxi for 65 dollars. what does each of them pay? => 13
i need to divide 900 by 12, what's the result => 75
subtract 250 from 1000 and then divide by 3 => 250
what is 15% of 80 plus 20? => 32
(45 + 55) * 3 = ? => 300
whats 7 times 6 again? => 42
hello, how many hours are there in 3 days? => 72
how many grams are 2.5 kilos? => 2500
the pool is 25 meters long, what is that in feet? => 82.021
It's 30 degrees celsius here, what's that in fahrenheit? => 86
Could you tell me today's date? => 2026-11-16 (Monday)
what's the time in Paris please? => 2026-11-16 11:30 CET (Monday, Europe/Paris)
my boss is in London this week. what time is it there now? => 2026-11-16 10:30 GMT (Monday, Europe/London)
what day of the week is it? => Monday
how long until christmas => 39
my daughter turned 9 and her brother is 3 years older. how old is he? => 12
a movie ticket costs 14 dollars and popcorn costs 8 dollars. how much do they cost together? => 22
groceries 54.20, gas 38, cinema 24.50 - what's the total? => 116.7
I scored 36 out of 45. What percentage did I get? => 80
I get paid 22.50 an hour and worked 6 hours, how much did I earn? => 135
each student needs 4 sheets of paper. how many sheets for 28 students? => 112
we need 96 cupcakes and a box holds 12. how many boxes do we need? => 8
a 90 minute movie is how many hours? => 1.5
a dozen roses cost 30 dollars. => NONE
two adult tickets at 18 and three child tickets at 10, how much all together? => 66
what is three quarters of 200 => 150
240 split 6 ways => 40
10 percent of 1,250 please => 125
I bought a phone for 400 and sold it for 520. How much profit did I make? => 120
葡萄8块一斤，来3斤，多少钱 => 24
土豆两块五一斤，买六斤多少钱？ => 15
3个人吃饭花了216，人均多少？ => 72
老板，这件衬衫120，打9折多少钱？ => 108
一箱牛奶24盒，4箱有多少盒 => 96
我存了5000块，花了1350，还剩多少？ => 3650
每小时赚30元，工作6小时能赚多少钱 => 180
学校有12个班，每个班45人，一共有多少学生？ => 540
一辆自行车每小时骑15公里，骑60公里要几小时？ => 4
200除以8再加5是多少 => 30
二十五乘四等于多少 => 100
帮我算下 3.5 * 12 => 42
请问1200的15%是多少？ => 180
你好，我想知道1小时30分钟是多少分钟 => NONE
公交车上有20人，下去了8人，还剩多少人？ => 12
哥哥15岁，弟弟比哥哥小4岁，弟弟几岁？ => 11
圆珠笔3元一支，铅笔1元一支，各买2支多少钱？ => NONE
一瓶水2块，买10瓶给20块，找多少？ => 0
一条裤子168元，付200元，应找回多少元？ => 32
今天是星期几呀？ => Monday
东京现在几点钟 => 2026-11-16 19:30 JST (Monday, Asia/Tokyo)
我同事在巴黎出差，他那里现在几点？ => 2026-11-16 11:30 CET (Monday, Europe/Paris)
还有多少天过年 => 82
我的房间长6米，宽3.5米，面积多大？ => 21
这个月电费120，水费45，燃气费80，一共多少 => 245
一本书原价60元，现在降价20%，现价多少？ => 48
5公斤等于多少斤 => 10
他跑100米用了20秒 => NONE
Need a hand: 1,350 divided by 18? => 75
we ordered 3 pizzas for 11 euros each, what's the total => 33
what's 20% of 65 bucks => 13
hi, my invoice is 640 plus 19 percent tax, what do they owe me in total? => 761.6
A taxi charges 2 dollars per km. What does a 14 km ride cost? => 28
i run 6 km every day, how many km is that in a week? => 42
Lisa has 52 marbles and loses 19. How many marbles does she have left? => 33
There are 180 pages in my book and I have read 75. How many pages are left? => 105
how much is 25 dollars an hour for 38 hours? => 950
if i drive 420 miles in 7 hours how fast am i going? => 60
66 plus 34 minus 12 => 88
what's 9 squared plus 19? => 100
Six friends split a 90 euro cab. How much does each owe? => 15
The sofa was 800 and now it's 25% off. What's the price now? => 600
it's 5 miles to work, how many km is that? => 8.04672
my cousin is in Toronto, what's the time there? => 2026-11-16 05:30 EST (Monday, America/Toronto)
西瓜2块5一斤，买了8斤，多少钱？ => 20
一张桌子300元，四把椅子每把80元，一共多少钱？ => 620
老师有60支铅笔，平均分给12个学生，每人几支 => 5
我每天喝8杯水，一周喝多少杯？ => 56
火车2小时走了500公里，速度是多少 => 250
这顿饭300块，打9折，多少钱 => 270
花了75块，付了100，找多少钱 => 25
60加40再除以5 => 20
一年存12000，五年存多少 => 60000
爸爸35岁，妈妈比爸爸小2岁，妈妈几岁？ => 33
悉尼现在几点啊 => 2026-11-16 21:30 AEDT (Monday, Australia/Sydney)
"""

MORE_NOT_PROBLEMS = """
what should i pay for a used car with 60000 km?
is 90 km/h too fast in a city?
my flight takes 3 hours and lands at 6
I slept 5 hours and drank 3 coffees, how do I feel better?
The iPhone 15 costs 900 dollars, how much is the iPhone 16?
i have 3 meetings and 2 calls tomorrow, how many emails do I have?
A shop sells pens for 2 dollars and books for 5 dollars. How much do I pay?
We have 4 rooms and 3 dogs. How much is the rent?
If I have 10 fingers and 10 toes, how many hands do I have?
Bus 42 comes every 15 minutes, how long do I wait?
There are 3 doors, behind one is a car. Should I switch?
A recipe for 4 people needs 300 g rice, how much salt?
my sister is twice as old as me and I'm 20, how old is she?
in 5 years I will be 40, how old is my mother?
10 years ago I was 20
how many days are 3 business weeks
I drove 60 miles at 30 mph and 60 miles at 60 mph, what was my average speed?
what's 100 km/h
100 dollars
how much is 40 euros worth of gold
the ratio of boys to girls is 3:2, how many girls?
7 out of 10 dentists recommend it
Is 3 hours enough for a museum?
what time is it when it's noon in Tokyo and 3 am elsewhere?
can you wake me up in 20 minutes
Who scored 3 goals in 2 games?
write an email about the 15% discount on 200 items
call me at 5
rate this from 1 to 10
choose a number from 1-100
the 2 of us paid 40 for what?
i paid 40 for 2 tickets last year and 30 for 3 this year, which was cheaper?
It costs 5 dollars but the delivery is extra. How much do I pay for 2?
I have 20 dollars. Apples cost 3 dollars. How much do I pay?
100 people, 3 exits, how long does evacuation take?
一个人一天吃2顿饭，5个人呢？
今天3度，明天5度，冷吗？
我有100块，能买什么？
3路公交车几分钟一班
房间号302，几楼？
小明3点出发，5点到，走了多少公里？
身高175体重70标准吗
手机5000块，分12期，利息多少？
4楼到8楼要走多少级台阶？
我和3个朋友吃饭花了200，每人多少？
苹果3元一斤，梨4元一斤，买了5斤，一共多少钱？
跑步5公里消耗多少卡路里
高铁300公里每小时，票价多少？
1斤等于多少块
第3名和第5名差多少分
2个月大的宝宝一天吃几次奶
8月15日是什么节日
这个项目3个人做了2周，预算多少？
一瓶500毫升的水多少钱
my landlord wants 900 plus 2 months deposit, is that legal?
I'm 5 minutes away and the movie starts at 8
we have 12 chairs for 15 guests
the 3 of us are meeting 2 clients, any tips?
give me 3 reasons to buy a 2 bedroom flat
How many 5 letter words start with 3 vowels?
I ate 2 eggs and 3 toasts, how many calories is that?
my wifi is 50 mbps, how long to download 4 gb?
Team A won 3 games, team B won 5 games. How many did team C win?
a 6 foot man and a 5 foot woman, how tall is their child?
The concert has 3 acts of 40 minutes and tickets cost 25 dollars. How long is it?
I have 100 euros, 3 kids and 2 dogs. How much money does each kid get?
it is 20 degrees in Rome and 15 in Paris, how much warmer will it be tomorrow?
the car costs 20000 and i can pay 300 a month, how much interest is there?
He was born in 1980 and died in 2010, how many books did he write?
what is 3 dozen roses in french
we drove 300 km with 20 liters, how expensive was it?
一杯奶茶15元，第二杯半价，两杯多少钱？
3年级2班有多少人
身高1米75，穿多大码
我坐了3站，又坐了5站，几点到？
买一送一，3件多少钱
今天25度，明天多少度
一箱苹果30个，坏了几个？
我排在第8，后面有5个人，一共几个人？
两个人打3局，每局21分，谁赢了
10平米的房间放得下2张床吗
每公里油费0.6元，高速费50元，300公里要多少时间？
"""

MORE_TABLES = {
    "TRIP": "| expense | amount |\n|---|---|\n| hotel | 320 |\n| flights | 210 |\n| food | 145 |\n| taxi | 38 |\n",
    "PARTS": "part,units,unit price\nscrew,100,0.05\nhinge,8,2.50\nboard,3,14.00\n",
    "PLAYERS": "player\tteam\tgoals\tgames\n"
    "Lee\tReds\t12\t20\nKim\tBlues\t9\t18\nPark\tReds\t7\t21\nChoi\tBlues\t15\t20\n",
    "STORE_ZH": "| 门店 | 员工 | 营业额 |\n|---|---|---|\n"
    "| 一店 | 8 | 52000 |\n| 二店 | 12 | 71000 |\n| 三店 | 6 | 38000 |\n",
    "WAGE_ZH": "姓名,工时,时薪\n小王,40,30\n小李,35,28\n小赵,20,45\n",
}
MORE_TABLE_PROBLEMS = """
TRIP | what did the trip cost in total? => The total amount is 713.
TRIP | How much was the food? => food: 145.
TRIP | what was the biggest expense? => hotel: 320.
TRIP | how much more was the hotel than the flights? => The difference is 110.
TRIP | Which expenses were over 200? => - hotel: 320 - flights: 210
TRIP | how many expenses are there? => There are 4.
PARTS | how much do all the parts cost together? => The total cost is 67.
PARTS | what's the unit price of a hinge? => hinge: 2.5.
PARTS | how many units in total? => The total units is 111.
PARTS | Which part is cheapest? => screw: 0.05.
PLAYERS | who scored the most goals? => Choi: 15.
PLAYERS | how many goals did the Reds score in total? => The total goals is 19.
PLAYERS | How many players are in the Blues team? => There are 2.
PLAYERS | average number of goals? => The average goals is 10.75.
PLAYERS | who played the fewest games? => Kim: 18.
PLAYERS | which players have at least 12 goals? => - Lee: 12 - Choi: 15
PLAYERS | How many more goals does Choi have than Park? => The difference is 8.
STORE_ZH | 哪家店营业额最高？ => 二店：71000。
STORE_ZH | 员工一共多少人 => 员工合计是 26。
STORE_ZH | 平均营业额是多少 => 平均营业额是 53666.67。
STORE_ZH | 二店比三店多几个员工？ => 相差是 6。
STORE_ZH | 营业额在50000以上的有哪些？ => - 一店：52000 - 二店：71000
WAGE_ZH | 一共要付多少工资？ => 总金额是 3080。
WAGE_ZH | 小李的时薪是多少？ => 小李：28。
WAGE_ZH | 谁的工时最长？ => 小王：40。
"""
MORE_OTHER_TABLE_PROBLEMS = """
TRIP | what did the trip cost per day?
TRIP | how much was the souvenir?
TRIP | was the hotel too expensive?
TRIP | what did 2 taxi rides cost?
PARTS | what does the assembly cost?
PARTS | how heavy are the parts?
PARTS | how much do 10 hinges cost?
PLAYERS | who is the best?
PLAYERS | how many goals per game did Lee score?
PLAYERS | who scored the most assists?
PLAYERS | which team won?
PLAYERS | How many goals did the Greens score?
STORE_ZH | 哪家店最漂亮？
STORE_ZH | 四店的营业额是多少？
STORE_ZH | 人均营业额最高的是哪家？
WAGE_ZH | 小王今年几岁？
WAGE_ZH | 谁最勤快？
WAGE_ZH | 小王加班2小时多少钱？
"""

# Each has a reading that fits its units and is wrong.
TRAPS = """
I bought 3 for 10 and 2 for 8, what's the total?
lunch for 4 was 60, coffee 12, what's the total?
I'm 30, spent 20 on food and 15 on gas. What's the total?
Tom ran 5 km in 30 minutes. What's his average speed?
18 of 24 students failed. What percent passed?
I'm 27 and my sister is 4 years older than me, how old am I?
Anna is 34 and her brother is 5 years younger. How old is Anna?
Tom is 5 years older than Anna. Tom is 30. How old is Anna?
I bought a 30 dollar shirt and returned a 20 dollar hat. How much did I spend in total?
I spent 60 dollars and had a coupon for 10 dollars. What did I pay in total?
3 pens cost 6 dollars. How much do 5 pens cost?
I had 10 apples, gave 3 to Tom and bought 4 more. How many apples are left?
60 mph for 30 minutes, how far do I get?
price 20 with 10% off and 5% tax, what do I pay?
Buy 3 for 10 dollars. How much do I pay in total for 6?
3 boxes with 12 eggs each, 5 broke. How many are left?
I have 20 dollars and lost 5 games. How much money is left?
I work 8 hours a day and sleep 7 hours a day, how many hours are left?
满200减50，我买了260元的东西，一共付多少？
100道题错了15道，正确率是多少？
全班40人，10人不及格，及格率是多少？
小明跑了5公里，用了30分钟，速度是多少？
我今年12岁，哥哥比我大5岁，我几岁？
衣服100元，裤子退了50元，一共花了多少钱？
早上卖了20个，下午卖了15个，还剩几个？
3个人5天吃30斤米，一个人一天吃多少斤？
"""
