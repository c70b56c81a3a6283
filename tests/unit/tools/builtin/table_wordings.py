"""Questions about tables in many wordings, each with the sentence of its result; the others have no answer."""

TABLES = {
    "FRUIT": """\
| fruit | sold | price |
|---|---|---|
| apples | 34 | $3.50 |
| pears | 51 | $2.10 |
| plums | 12 | $4.00 |
""",
    "CITIES": """\
city,temperature,population
Rome,24,2800000
Oslo,11,700000
Cairo,33,10000000
""",
    "VISITORS": """\
date\tvisitors
2024-03-01\t120
2024-05-01\t90
2024-04-01\t150
""",
    "REGIONS": """\
| region | month | revenue |
|---|---|---|
| North | Jan | 10 |
| South | Jan | 20 |
| North | Feb | 30 |
| South | Feb | 5 |
""",
    "PAIRS": """\
Apples: 30
Pears: 51
Plums: 12
""",
    "DEPARTMENTS_ZH": """\
| 部门 | 人数 | 预算 |
|---|---|---|
| 销售部 | 12 | 300 |
| 研发部 | 18 | 900 |
| 市场部 | 6 | 150 |
""",
    "CITIES_ZH": """\
城市,气温
北京,12
上海,18
广州,25
""",
    "FRUIT_ZH": """\
| 水果 | 价格 | 销量 |
|---|---|---|
| 苹果 | 5元 | 30 |
| 梨 | 3元 | 51 |
| 香蕉 | 4元 | 20 |
""",
    "VISITORS_ZH": """\
| 日期 | 访客 |
|---|---|
| 2024-03-01 | 120 |
| 2024-05-01 | 90 |
""",
    "PRICES": """\
Here are our prices:

| Item | Price |
|------|-------|
| Coffee | €2.80 |
| Tea | €2.20 |
| Cake | €4.50 |
""",
    "SCORES": """\
Student,Math,English
Anna,92,85
Ben,78,91
Cara,88,79
""",
    "QUARTERS": """\
Quarter  Revenue  Profit
Q1  120  20
Q2  150  35
Q3  90  10
Q4  200  60
""",
    "CLOSES": """\
| Date | Close |
|---|---|
| 2024-01-02 | 101.5 |
| 2024-01-03 | 99.2 |
| 2024-01-04 | 104.0 |
""",
    "EMPLOYEES": """\
name | age | salary
Bob | 34 | 52000
Eve | 29 | 61000
Max | 45 | 58000
""",
    "AMOUNTS": """\
Apples: 30
Pears: 51
Plums: 12
""",
    "SHOPS_ZH": """\
下面是各分店的销售额：
| 分店 | 销售额 |
|---|---|
| 东店 | 1,200元 |
| 西店 | 980元 |
| 南店 | 1,500元 |
""",
    "STUDENTS_ZH": """\
姓名,年龄,成绩
小明,12,95
小红,11,88
小刚,13,91
""",
    "MONTHS_ZH": """\
月份,气温
1月,3
2月,5
3月,11
""",
}

QUESTIONS = """
FRUIT | Which fruit sold the most? => pears: 51.
FRUIT | which fruit is the cheapest? => pears: $2.10.
FRUIT | What is the most expensive fruit? => plums: $4.
FRUIT | how many fruits were sold in total? => The total sold is 97.
FRUIT | What is the average price? => The average price is $3.20.
FRUIT | What is the price of pears? => pears: $2.10.
FRUIT | how much do plums cost? => plums: $4.
FRUIT | how many fruits are there? => There are 3.
FRUIT | How much more expensive are plums than pears? => The difference is $1.90.
FRUIT | Sort by price, highest first => - plums: $4 - apples: $3.50 - pears: $2.10
FRUIT | top 2 fruits by sales => - pears: 51 - apples: 34
FRUIT | Which fruits cost more than 3? => - apples: $3.50 - plums: $4
FRUIT | What's the total of sold? => The total sold is 97.
FRUIT | How many pears were sold? => pears: 51.
FRUIT | what is the difference in price between apples and plums? => The difference is $0.50.
FRUIT | which fruit sold the least? => plums: 12.
CITIES | how much warmer is Rome than Oslo? => The difference is 13.
CITIES | Which city is the coldest? => Oslo: 11.
CITIES | What is the hottest city? => Cairo: 33.
CITIES | Which city has the largest population? => Cairo: 10000000.
CITIES | what's the population of Cairo? => Cairo: 10000000.
CITIES | How many cities are listed? => There are 3.
CITIES | average temperature? => The average temperature is 22.67.
CITIES | How much colder is Oslo than Cairo? => The difference is 22.
CITIES | which cities have more than 1000000 people? => - Rome: 2800000 - Cairo: 10000000
VISITORS | What is the latest number of visitors? => 2024-05-01: 90.
VISITORS | How many visitors in total? => The total visitors is 360.
VISITORS | Which day had the most visitors? => 2024-04-01: 150.
VISITORS | what was the earliest date? => 2024-03-01: 120.
REGIONS | What is the total revenue? => The total revenue is 65.
REGIONS | total revenue per region? => - North: 40 - South: 25
REGIONS | What is the total revenue for North? => The total revenue is 40.
REGIONS | Which region had the highest revenue in Feb? => North: 30.
REGIONS | What is the latest month? => - Feb: North, 30 - Feb: South, 5
PAIRS | Which one is the highest? => Pears: 51.
PAIRS | which fruit sold the most? => Pears: 51.
PAIRS | What is the total? => The total value is 93.
PAIRS | How much more are pears than plums? => The difference is 39.
DEPARTMENTS_ZH | 哪个部门人数最多？ => 研发部：18。
DEPARTMENTS_ZH | 三个部门一共有多少人？ => 人数合计是 36。
DEPARTMENTS_ZH | 平均预算是多少？ => 平均预算是 450。
DEPARTMENTS_ZH | 研发部有多少人？ => 研发部：18。
DEPARTMENTS_ZH | 研发部比销售部多多少人？ => 相差是 6。
DEPARTMENTS_ZH | 哪个部门预算最低？ => 市场部：150。
DEPARTMENTS_ZH | 有几个部门？ => 共 3 个。
DEPARTMENTS_ZH | 按预算从高到低排序 => - 研发部：900 - 销售部：300 - 市场部：150
DEPARTMENTS_ZH | 市场部的预算是多少？ => 市场部：150。
CITIES_ZH | 哪个城市最热？ => 广州：25。
CITIES_ZH | 哪个城市最冷？ => 北京：12。
CITIES_ZH | 广州比北京热多少度？ => 相差是 13。
CITIES_ZH | 上海的气温是多少？ => 上海：18。
CITIES_ZH | 平均气温是多少 => 平均气温是 18.33。
CITIES_ZH | 北京和上海的气温相差多少？ => 相差是 6。
CITIES_ZH | 气温最高的城市是哪个？ => 广州：25。
FRUIT_ZH | 哪种水果最便宜？ => 梨：3 元。
FRUIT_ZH | 哪种水果卖得最多？ => 梨：51。
FRUIT_ZH | 梨的价格是多少？ => 梨：3 元。
FRUIT_ZH | 苹果多少钱？ => 苹果：5 元。
FRUIT_ZH | 总销量是多少？ => 销量合计是 101。
FRUIT_ZH | 香蕉卖了多少？ => 香蕉：20。
FRUIT_ZH | 苹果比梨贵多少？ => 相差是 2 元。
FRUIT_ZH | 销量超过25的水果有哪些？ => - 苹果：30 - 梨：51
VISITORS_ZH | 最新的访客数是多少？ => 2024-05-01：90。
VISITORS_ZH | 一共有多少访客？ => 访客合计是 210。
VISITORS_ZH | 访客最多的是哪天？ => 2024-03-01：120。
FRUIT | What is the cheapest fruit in the table? => pears: $2.10.
FRUIT | Give me the total sales => The total sold is 97.
FRUIT | how much cheaper are pears than plums? => The difference is $1.90.
FRUIT | which fruits cost less than $4? => - apples: $3.50 - pears: $2.10
FRUIT | rank the fruits by sales => - pears: 51 - apples: 34 - plums: 12
FRUIT | What's the minimum price? => pears: $2.10.
FRUIT | List the two most expensive fruits => - plums: $4 - apples: $3.50
FRUIT | what did apples sell? => apples: 34.
CITIES | How many people live in Oslo? => Oslo: 700000.
CITIES | What is the temperature in Rome? => Rome: 24.
CITIES | Which city has the fewest inhabitants? => Oslo: 700000.
CITIES | difference in temperature between Rome and Oslo? => The difference is 13.
CITIES | How hot is it in Cairo? => Cairo: 33.
REGIONS | What is the average revenue per month? => - Feb: 17.5 - Jan: 15
REGIONS | What was the revenue of South in Feb? => South: 5.
DEPARTMENTS_ZH | 人数最少的部门是哪个？ => 市场部：6。
DEPARTMENTS_ZH | 预算一共是多少？ => 预算合计是 1350。
DEPARTMENTS_ZH | 销售部和市场部的人数相差多少？ => 相差是 6。
DEPARTMENTS_ZH | 人数超过10的部门有哪些？ => - 销售部：12 - 研发部：18
DEPARTMENTS_ZH | 市场部比研发部少多少人？ => 相差是 12。
CITIES_ZH | 最低气温是多少？ => 北京：12。
CITIES_ZH | 把城市按气温从低到高排列 => - 北京：12 - 上海：18 - 广州：25
FRUIT_ZH | 最贵的水果是什么？ => 苹果：5 元。
FRUIT_ZH | 平均价格是多少？ => 平均价格是 4 元。
FRUIT_ZH | 水果有几种？ => 共 3 个。
FRUIT_ZH | 销量最低的是哪种水果？ => 香蕉：20。
VISITORS_ZH | 最早的日期是哪天？ => 2024-03-01：120。
PRICES | What does tea cost? => Tea: €2.20.
PRICES | Which item is the most expensive? => Cake: €4.50.
PRICES | how much is a coffee? => Coffee: €2.80.
PRICES | What is the cheapest item? => Tea: €2.20.
PRICES | What is the average price? => The average Price is €3.1667.
PRICES | How much more does cake cost than tea? => The difference is €2.30.
SCORES | Who has the highest math score? => Anna: 92.
SCORES | What is Ben's English score? => Ben: 91.
SCORES | What is the average math score? => The average Math is 86.
SCORES | Who got the lowest score in English? => Cara: 79.
SCORES | how much higher is Anna's math score than Ben's? => The difference is 14.
SCORES | What's the average English grade? => The average English is 85.
SCORES | Which student scored best in English? => Ben: 91.
QUARTERS | Which quarter had the highest revenue? => Q4: 200.
QUARTERS | What was the total profit? => The total Profit is 125.
QUARTERS | How much revenue was there in Q2? => Q2: 150.
QUARTERS | What is the latest quarter's revenue? => Q4: 200.
QUARTERS | How much higher was revenue in Q4 than in Q1? => The difference is 80.
QUARTERS | Which quarter had the lowest profit? => Q3: 10.
CLOSES | What is the latest close? => 2024-01-04: 104.
CLOSES | On which date was the close the highest? => 2024-01-04: 104.
CLOSES | What was the close on 2024-01-03? => 2024-01-03: 99.2.
CLOSES | What is the average close? => The average Close is 101.57.
CLOSES | What's the most recent closing price? => 2024-01-04: 104.
EMPLOYEES | Who is the oldest? => Max: 45.
EMPLOYEES | Who earns the most? => Eve: 61000.
EMPLOYEES | What is Eve's salary? => Eve: 61000.
EMPLOYEES | How old is Max? => Max: 45.
EMPLOYEES | What's the total salary? => The total salary is 171000.
EMPLOYEES | Who is the youngest? => Eve: 29.
EMPLOYEES | average age? => The average age is 36.
AMOUNTS | Which sold best? => Pears: 51.
AMOUNTS | How many pears? => Pears: 51.
AMOUNTS | What's the sum? => The total value is 93.
AMOUNTS | Which has the fewest? => Plums: 12.
SHOPS_ZH | 哪家分店销售额最高？ => 南店：1500 元。
SHOPS_ZH | 三家店的总销售额是多少？ => 销售额合计是 3680 元。
SHOPS_ZH | 西店的销售额是多少？ => 西店：980 元。
SHOPS_ZH | 南店比西店多多少？ => 相差是 520 元。
SHOPS_ZH | 平均销售额是多少？ => 平均销售额是 1226.67 元。
SHOPS_ZH | 销售额最低的是哪家？ => 西店：980 元。
SHOPS_ZH | 一共有几家分店？ => 共 3 个。
STUDENTS_ZH | 谁的成绩最好？ => 小明：95。
STUDENTS_ZH | 谁的成绩最高？ => 小明：95。
STUDENTS_ZH | 谁年龄最大？ => 小刚：13。
STUDENTS_ZH | 小红的成绩是多少？ => 小红：88。
STUDENTS_ZH | 平均成绩是多少？ => 平均成绩是 91.33。
STUDENTS_ZH | 小明比小红高多少分？ => 相差是 7。
STUDENTS_ZH | 成绩高于90的有谁？ => - 小明：95 - 小刚：91
MONTHS_ZH | 哪个月最冷？ => 1月：3。
MONTHS_ZH | 最近一个月的气温是多少？ => 3月：11。
MONTHS_ZH | 3月的气温是多少？ => 3月：11。
MONTHS_ZH | 3月比1月高多少度？ => 相差是 8。
MONTHS_ZH | 平均气温多少？ => 平均气温是 6.33。
"""

OTHER_QUESTIONS = """
FRUIT | Why do pears sell so well?
FRUIT | Translate this table into French
FRUIT | What percentage of sales are pears?
FRUIT | Write a haiku about this
FRUIT | Which fruit tastes best?
FRUIT | What is the second most expensive fruit?
FRUIT | Make a chart of it
FRUIT | What colour are apples?
FRUIT | Summarise this table
FRUIT | Which fruit is the healthiest?
FRUIT | Who wrote this?
FRUIT | How much do bananas cost?
FRUIT | Which is the cheapest and which the most expensive?
FRUIT | Is this table correct?
FRUIT | What is the weight of the heaviest fruit?
DEPARTMENTS_ZH | 为什么研发部人最多？
DEPARTMENTS_ZH | 翻译成英文
DEPARTMENTS_ZH | 总结这个表格
DEPARTMENTS_ZH | 哪个部门最好看？
DEPARTMENTS_ZH | 研发部占比多少？
DEPARTMENTS_ZH | 财务部有多少人？
DEPARTMENTS_ZH | 画一个图表
FRUIT | Is this a good table?
FRUIT | What should I buy?
FRUIT | How many calories do pears have?
FRUIT | What is the total weight?
FRUIT | Which fruit grew the most?
FRUIT | what is the total number of bananas?
FRUIT | Order more apples please
FRUIT | Who sold the most?
FRUIT | Thanks!
FRUIT | Are pears cheaper than plums? And why?
FRUIT | Which customers bought pears?
FRUIT | When were the pears sold?
CITIES | Which city is the most beautiful?
CITIES | Which city has the best food?
CITIES | What is the capital of Italy?
CITIES | How far is Rome from Oslo?
CITIES | How tall is the tallest building in Rome?
DEPARTMENTS_ZH | 哪个部门最忙？
DEPARTMENTS_ZH | 部门经理是谁？
DEPARTMENTS_ZH | 平均年龄是多少？
DEPARTMENTS_ZH | 人数第二多的部门是哪个？
DEPARTMENTS_ZH | 哪个部门的人工资最高？
CITIES_ZH | 哪个城市最漂亮？
CITIES_ZH | 北京到上海多远？
CITIES_ZH | 北京有多少人口？
PRICES | Do you have any soup?
PRICES | What is the most popular item?
PRICES | I'd like a coffee please
PRICES | Which item is the healthiest?
PRICES | What is the total weight of the cake?
PRICES | How many calories does the cake have?
PRICES | Who sells the most coffee?
PRICES | Book a table for 2
SCORES | Who is the oldest student?
SCORES | Who is the tallest?
SCORES | Who has the highest score?
SCORES | How many boys are there?
SCORES | What is the teacher's name?
SCORES | What is the average age?
QUARTERS | What was the revenue growth?
QUARTERS | What was the revenue in Q5?
QUARTERS | How many customers did we have in total?
QUARTERS | Which region had the highest revenue?
QUARTERS | What is our highest cost?
CLOSES | What will the close be tomorrow?
CLOSES | What is the total volume?
CLOSES | Should I sell?
EMPLOYEES | Who is the best?
EMPLOYEES | Who works the most hours?
EMPLOYEES | How tall is Bob?
EMPLOYEES | What is Anna's salary?
EMPLOYEES | How many children does Eve have?
AMOUNTS | Which is the sweetest?
AMOUNTS | How many oranges?
AMOUNTS | What is the most popular fruit in the world?
SHOPS_ZH | 哪家分店员工最多？
SHOPS_ZH | 北店的销售额是多少？
SHOPS_ZH | 东店在哪里？
SHOPS_ZH | 哪家分店最受欢迎？
SHOPS_ZH | 利润一共是多少？
STUDENTS_ZH | 谁最高？
STUDENTS_ZH | 小李的成绩是多少？
STUDENTS_ZH | 谁最聪明？
STUDENTS_ZH | 小明几年级？
STUDENTS_ZH | 平均身高是多少？
STUDENTS_ZH | 小明的妈妈多大？
MONTHS_ZH | 哪个月下雨最多？
MONTHS_ZH | 4月的气温是多少？
MONTHS_ZH | 明天气温多少？
"""
