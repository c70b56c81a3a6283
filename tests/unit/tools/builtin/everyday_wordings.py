"""Everyday tables with natural questions: the answer of each, and questions that the table does not answer."""

EVERYDAY_TABLES = [
    # 0
    "player,team,goals,assists\nMaya,Reds,14,3\nJon,Blues,9,11\nPriya,Reds,17,6\nSam,Greens,5,8",
    # 1
    "| category | budget | spent |\n"
    "|---|---|---|\n"
    "| rent | 1200 | 1200 |\n"
    "| food | 450 | 512 |\n"
    "| travel | 300 | 180 |\n"
    "| fun | 150 | 95 |",
    # 2
    "日期\t步数\n周一\t8200\n周二\t6400\n周三\t11300\n周四\t7100",
    # 3
    "ticket|sold|price\nadult|120|15\nchild|80|8\nsenior|40|10",
    # 4
    "city       high  low\nOslo       12    4\nCairo      34    21\nLima       22    16\nDelhi      38    27",
    # 5
    "name,day,hours\nAnna,Mon,7.5\nAnna,Tue,8\nBen,Mon,6\nBen,Tue,9.5\nCleo,Mon,8",
    # 6
    "学生\t语文\t数学\n小明\t88\t92\n小红\t95\t81\n小刚\t76\t99\n小丽\t84\t90",
    # 7
    "| Item | Stock | Unit price |\n"
    "| --- | ---: | ---: |\n"
    "| Bolts | 500 | $0.20 |\n"
    "| Hammers | 12 | $18.50 |\n"
    "| Saws | 7 | $24.00 |\n"
    "| Nails | 900 | $0.05 |",
    # 8
    "runner;time_min\nLee;42.5\nOrtiz;39.8\nKhan;47.1\nBerg;44.0",
    # 9
    "月份,收入,支出\n1月,12000,8500\n2月,9800,9100\n3月,15000,7600",
    # 10
    "Book, Pages, Rating\nDune, 612, 4.6\nEmma, 474, 4.1\nIt, 1138, 4.3\nUlysses, 730, 3.7",
    # 11
    "| 水果 | 数量 | 单价 |\n|---|---|---|\n| 苹果 | 10 | 3.5 |\n| 香蕉 | 6 | 2 |\n| 葡萄 | 4 | 12 |",
    # 12
    "team,played,won,points\nHawks,10,6,19\nOwls,10,8,25\nKites,9,3,11\nCrows,10,5,16",
    # 13
    "| month | rainfall_mm |\n|---|---|\n| Jan | 88 |\n| Feb | 61 |\n| Mar | 74 |\n| Apr | 43 |",
    # 14
    "day\tcoffees\nMon\t3\nTue\t5\nWed\t2\nThu\t4\nFri\t6",
    # 15
    "product,qty,price\npen,200,1.50\nnotebook,75,4.00\nstapler,20,9.00",
    # 16
    "员工    工时    时薪\n张三    38    50\n李四    42    45\n王五    30    60",
    # 17
    "Student   Maths   Science   Art\n"
    "Ivy       71      85        90\n"
    "Omar      93      78        66\n"
    "Tess      82      91        74",
    # 18
    "expense,amount\nrent,$950\ngroceries,$310.40\nbus pass,$65\nphone,$28.60",
    # 19
    "城市\t人口(万)\t面积\n北京\t2189\t16410\n上海\t2487\t6340\n成都\t2094\t14335",
    # 20
    "| SKU | Warehouse | Units |\n"
    "|---|---|---|\n"
    "| A1 | North | 40 |\n"
    "| B2 | South | 15 |\n"
    "| C3 | North | 25 |\n"
    "| D4 | South | 60 |",
    # 21
    "菜名,价格,销量\n宫保鸡丁,38,52\n麻婆豆腐,26,70\n水煮鱼,68,31",
    # 22
    "model,range_km,price_eur\nLeafy,385,35000\nVolta,520,47000\nMini E,305,33500\nZap,450,39900",
    # 23
    "swimmer,club,medals\nIda,Waves,4\nRuth,Sharks,7\nNoor,Waves,5",
    # 24
    "| Project | Hours | Rate |\n|---|---|---|\n| Website | 30 | 80 |\n| Logo | 12 | 60 |",
    # 25
    "姓名,跳绳\n小李,120\n小周,155\n小吴,98",
    # 26
    "dish\torders\tprice\nramen\t41\t11\nudon\t28\t9.5\ntempura\t17\t14",
    # 27
    "Week   Miles\n1      12\n2      18\n3      15\n4      21",
    # 28
    "plant,height_cm\nfern,40\ncactus,15\npalm,180",
    # 29
    "科目,分数\n语文,86\n数学,94\n英语,79",
    # 30
    "| shop | visitors | sales |\n"
    "|---|---|---|\n"
    "| A Street | 320 | 5400 |\n"
    "| Mall | 910 | 12800 |\n"
    "| Station | 640 | 7100 |",
    # 31
    "child;age;allowance\nTim;9;5\nSue;12;8\nKai;7;3",
    # 32
    "部门,加班小时\n研发,42\n市场,18\n客服,27",
    # 33
    "player,team,goals\nMia,Reds,14\nOmar,Blues,19\nLena,Greens,11\nTheo,Reds,16",
    # 34
    "日期\t步数\n周一\t6200\n周二\t8400\n周三\t7100\n周四\t9500",
    # 35
    "| ticket | sold | price |\n|---|---|---|\n| adult | 20 | 12.00 |\n| child | 15 | 6.50 |\n| senior | 8 | 9.00 |",
    # 36
    "name,age\nAnn,31\nBob,45\nCid,28",
    # 37
    "day\tlaps\nMon\t12\nTue\t20\nWed\t16",
    # 38
    "city,high,low\nOslo,12,4\nCairo,34,21",
    # 39
    "runner,time\nLee,42.5\nOrtiz,39.8\nKhan,47.1",
    # 40
    "月份,收入,支出\n1月,12000,8500\n2月,9800,9100",
]
# Number of the table, question, answer.
EVERYDAY_QUESTIONS = [
    (0, "who scored the most?", "Priya: 17."),
    (0, "who has the fewest assists?", "Maya: 3."),
    (0, "how many goals did Jon score", "Jon: 9."),
    (0, "how many goals did the Reds score altogether?", "The total goals is 31."),
    (0, "how many more goals does Priya have than Sam?", "The difference is 12."),
    (1, "what did we spend in total?", "The total spent is 1987."),
    (1, "which category did we spend the least on?", "fun: 95."),
    (1, "how much did I spend on travel?", "travel: 180."),
    (1, "whats the total budget", "The total budget is 2100."),
    (2, "平均每天走了多少步？", "平均步数是 8250。"),
    (2, "哪天走得最多？", "周三：11300。"),
    (2, "一共走了多少步", "步数合计是 33000。"),
    (2, "周二走了多少步？", "周二：6400。"),
    (2, "走得最多和最少的差多少步？", "相差是 4900。"),
    (3, "How much money did we take in total?", "The total amount is 2840."),
    (3, "how many tickets were sold altogether?", "The total sold is 240."),
    (3, "Which ticket brought in the most money?", "adult: 1800."),
    (3, "what is the cheapest ticket?", "child: 8."),
    (3, "How much is a senior ticket?", "senior: 10."),
    (4, "which city was the hottest?", "Delhi: 38."),
    (4, "what was the low in Lima?", "Lima: 16."),
    (4, "how many cities had a high above 20?", "There are 3."),
    (4, "average high?", "The average high is 26.5."),
    (5, "how long did Anna work?", "The total hours is 15.5."),
    (5, "total hours for everyone?", "The total hours is 39."),
    (5, "who worked the most overall?", "- Anna: 15.5 - Ben: 15.5"),
    (5, "how many hours did Ben put in on Tue", "Ben: 9.5."),
    (6, "谁的数学最高？", "小刚：99。"),
    (6, "语文的平均分是多少？", "平均语文是 85.75。"),
    (6, "小红数学考了多少分？", "小红：81。"),
    (6, "数学90分以上的有几个人？", "共 3 个。"),
    (7, "What's all our stock worth?", "The total amount is $535."),
    (7, "most expensive item?", "Saws: $24."),
    (7, "how many different items do we carry?", "There are 4."),
    (8, "who was the fastest?", "Ortiz: 39.8."),
    (8, "who came last?", "Khan: 47.1."),
    (8, "how much faster was Ortiz than Lee?", "The difference is 2.7."),
    (8, "mean time", "The average time_min is 43.35."),
    (9, "一共收入多少？", "收入合计是 36800。"),
    (9, "哪个月花得最多？", "2月：9100。"),
    (9, "3月花了多少钱？", "3月：7600。"),
    (9, "平均每个月支出多少", "平均支出是 8400。"),
    (10, "longest book?", "It: 1138."),
    (10, "Which one is rated best?", "Dune: 4.6."),
    (10, "how many pages in total are there to read?", "The total Pages is 2954."),
    (10, "list the books with a rating over 4.2", "- Dune: 4.6 - It: 4.3"),
    (10, "top 2 by pages", "- It: 1138 - Ulysses: 730"),
    (11, "一共要花多少钱？", "总金额是 95。"),
    (11, "哪种水果最贵？", "葡萄：12。"),
    (11, "总共买了多少个水果？", "数量合计是 20。"),
    (11, "苹果比香蕉每个贵多少？", "相差是 1.5。"),
    (12, "who is top of the league?", "Owls: 25."),
    (12, "how many points do the Kites have?", "Kites: 11."),
    (12, "gap in points between Owls and Hawks?", "The difference is 6."),
    (12, "how many points were there in all?", "The total points is 71."),
    (13, "which month was the wettest?", "Jan: 88."),
    (13, "how much did it rain in Mar?", "Mar: 74."),
    (13, "average rain per month?", "The average rainfall_mm is 66.5."),
    (13, "what was the driest month", "Apr: 43."),
    (13, "how much more rain fell in Jan than in Apr?", "The difference is 45."),
    (14, "how many coffees did I drink this week?", "The total coffees is 20."),
    (14, "what day did i drink the most?", "Fri: 6."),
    (14, "on how many days did I have more than 3?", "There are 3."),
    (14, "per day on average?", "The average coffees is 4."),
    (15, "what was our revenue?", "The total amount is 780."),
    (15, "Which product earned us the most?", "- pen: 300 - notebook: 300"),
    (15, "how many items did we sell?", "The total qty is 295."),
    (15, "what does a notebook cost?", "notebook: 4."),
    (15, "how much did we make from staplers?", "The total amount is 180."),
    (16, "谁工作时间最长？", "李四：42。"),
    (16, "李四的时薪是多少？", "李四：45。"),
    (16, "三个人一共工作了多少小时？", "工时合计是 110。"),
    (16, "平均工时是多少？", "平均工时是 36.67。"),
    (16, "谁的时薪最低？", "李四：45。"),
    (17, "who got the best mark in Science?", "Tess: 91."),
    (17, "what did Omar get in Art?", "Omar: 66."),
    (17, "class average in Maths?", "The average Maths is 82."),
    (17, "who did worst in maths?", "Ivy: 71."),
    (17, "how many students scored over 80 in Science?", "There are 2."),
    (18, "how much do I spend altogether?", "The total amount is $1354."),
    (18, "what's my biggest expense?", "rent: $950."),
    (18, "how much is the phone?", "phone: $28.60."),
    (18, "what costs me less than 100?", "- bus pass: $65 - phone: $28.60"),
    (19, "哪个城市人口最多？", "上海：2487。"),
    (19, "成都的面积有多大？", "成都：14335。"),
    (19, "人口最少的是哪个城市？", "成都：2094。"),
    (19, "上海比北京多多少人口？", "相差是 298。"),
    (19, "这三个城市总人口是多少？", "人口(万)合计是 6770。"),
    (20, "how many units are in the North warehouse?", "The total Units is 65."),
    (20, "which SKU do we have most of?", "D4: 60."),
    (20, "how many SKUs are there?", "There are 4."),
    (20, "which warehouse has more units?", "South: 75."),
    (20, "units left in total?", "The total Units is 140."),
    (21, "总共卖了多少钱？", "总金额是 5904。"),
    (21, "哪道菜卖得最好？", "麻婆豆腐：70。"),
    (21, "最便宜的菜是什么？", "麻婆豆腐：26。"),
    (21, "水煮鱼多少钱一份？", "水煮鱼：68。"),
    (21, "一共卖出多少份？", "销量合计是 153。"),
    (22, "which car goes the furthest?", "Volta: 520."),
    (22, "which is the cheapest one?", "Mini E: 33500."),
    (22, "how many of them cost under 40000?", "There are 3."),
    (22, "how far does the Zap go?", "Zap: 450."),
    (22, "sort them by price, highest first", "- Volta: 47000 - Zap: 39900 - Leafy: 35000 - Mini E: 33500"),
    (23, "who won the most medals?", "Ruth: 7."),
    (23, "how many medals did Waves win?", "The total medals is 9."),
    (23, "which club has the most medals?", "Waves: 9."),
    (24, "what do I bill in total?", "The total cost is 3120."),
    (24, "how many hours did I work?", "The total Hours is 42."),
    (24, "which project took the longest?", "Website: 30."),
    (25, "谁跳得最多？", "小周：155。"),
    (25, "平均每人跳了多少个？", "平均跳绳是 124.33。"),
    (25, "小李跳了多少个？", "小李：120。"),
    (25, "小周比小吴多跳了多少？", "相差是 57。"),
    (26, "which dish is ordered most often?", "ramen: 41."),
    (26, "how much did we earn?", "The total amount is 955."),
    (26, "what's the most expensive dish?", "tempura: 14."),
    (27, "how many miles did I run in total?", "The total Miles is 66."),
    (27, "average miles per week?", "The average Miles is 16.5."),
    (27, "what is my best week?", "4: 21."),
    (28, "which plant is the tallest?", "palm: 180."),
    (28, "how tall is the fern?", "fern: 40."),
    (28, "what's the shortest plant?", "cactus: 15."),
    (29, "哪科考得最好？", "数学：94。"),
    (29, "总分是多少？", "分数合计是 259。"),
    (29, "平均分多少？", "平均分数是 86.33。"),
    (29, "英语考了多少分？", "英语：79。"),
    (29, "最高分和最低分差多少？", "相差是 15。"),
    (30, "which shop sold the least?", "A Street: 5400."),
    (30, "how many visitors did the Mall get?", "Mall: 910."),
    (30, "which shops had over 500 visitors?", "- Mall: 910 - Station: 640"),
    (31, "how old is Kai?", "Kai: 7."),
    (31, "who is the youngest?", "Kai: 7."),
    (31, "how much allowance in total?", "The total allowance is 16."),
    (32, "哪个部门加班最多？", "研发：42。"),
    (32, "一共加班多少小时？", "加班小时合计是 87。"),
    (32, "市场部加班多少小时？", "市场：18。"),
    (32, "研发比客服多加班多少小时？", "相差是 15。"),
]
UNANSWERED_QUESTIONS = [
    (4, "How much rain fell in Oslo?"),
    (8, "which runner weighs the least?"),
    (11, "哪种水果卖得最差的原因是什么？"),
    (14, "How much did the coffees cost me?"),
    (18, "how much did I save last year?"),
    (23, "who won gold?"),
    (25, "小张跳了多少个？"),
    (26, "how many guests came?"),
    (27, "how many calories did I burn?"),
    (28, "which plant needs the most water?"),
    (30, "how many staff work at the Mall?"),
    (32, "哪个部门工资最高？"),
    (33, "who scored the most in May?"),
    (33, "who scored the most for the Yellows?"),
    (33, "who ran the most?"),
    (33, "how many goals did Kane score?"),
    (33, "who is the youngest?"),
    (33, "who scored the most penalties?"),
    (33, "how many games did Mia play?"),
    (33, "who earned the most?"),
    (33, "which coach scored the most?"),
    (33, "who scored the first goal?"),
    (33, "how many goals did the Pinks score altogether?"),
    (33, "who scored the most away from home?"),
    (33, "how many goals did Mia score with her head?"),
    (33, "who missed the most?"),
    (34, "平均每天吃了多少卡路里？"),
    (34, "周五走了多少步？"),
    (34, "平均每天睡了多少小时？"),
    (34, "哪天吃得最多？"),
    (34, "小王一共走了多少步？"),
    (34, "平均每天走了多少公里？"),
    (34, "上午一共走了多少步？"),
    (34, "哪天最热？"),
    (34, "平均每小时走了多少步？"),
    (35, "How much money did we lose in total?"),
    (35, "how much did we take on Monday?"),
    (35, "how much profit did we make?"),
    (35, "how much did we spend in total?"),
    (35, "how many tickets are left?"),
    (35, "how much money did we take at the bar?"),
    (35, "how many adults came twice?"),
    (35, "how much do 3 adult tickets cost?"),
    (35, "how much did students pay?"),
    (35, "how many tickets did Tom sell?"),
    (36, "who ate the most?"),
    (36, "who scored the most?"),
    (36, "who won?"),
    (36, "who earned the most?"),
    (36, "how many cats does Bob have?"),
    (36, "who is the tallest?"),
    (36, "who came last?"),
    (36, "what did Bob score?"),
    (36, "who is fastest?"),
    (36, "how long did Bob work?"),
    (36, "total hours?"),
    (37, "how many laps did Ann swim?"),
    (37, "what day did I swim the longest?"),
    (37, "how many lengths did I swim on Sat?"),
    (37, "how many hours did I swim?"),
    (37, "on which day did I swim in the sea?"),
    (37, "how many people swam?"),
    (37, "what day did I eat the most?"),
    (37, "how much did I pay per lap?"),
    (38, "which city was the rainiest?"),
    (38, "which city is the biggest?"),
    (38, "what was the high in Paris?"),
    (38, "how hot is it in Cairo at night?"),
    (38, "which city has the highest tower?"),
    (39, "who ran the furthest?"),
    (39, "who is the oldest?"),
    (39, "who was fastest in the first lap?"),
    (39, "who won the most medals?"),
    (40, "哪个月存得最多？"),
    (40, "3月花了多少钱？"),
    (40, "房租花了多少钱？"),
    (40, "一共赚了多少利润？"),
    (40, "1月吃饭花了多少钱？"),
]
