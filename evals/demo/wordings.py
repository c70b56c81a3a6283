"""Sixty ways to ask the demo for what it has.

The adapter was taught to call clocks and to book tables, by words like these; the flow takes any words.
"""

CLOCK = (
    "What time is it, please?",
    "What time is it right now?",
    "Hi, what time is it?",
    "Can you tell me the time?",
    "Please tell me the current time.",
    "What's the current time in UTC?",
    "Give me the time.",
    "Do you know what time it is?",
    "I'd like to know the time.",
    "Could you check the time for me?",
    "Look at the clock.",
    "time?",
    "current time utc",
    "whats the time",
    "My watch stopped. What time is it?",
    "What is the time at the moment?",
    "现在几点了？",
    "请问现在几点？",
    "现在是几点钟？",
    "请告诉我现在的时间。",
)
# With the number of people that the question must name.
BOOKING = (
    ("Book a table for two people.", 2),
    ("Book a table for 4 people.", 4),
    ("Please book a table for three.", 3),
    ("Can you book a table for six people?", 6),
    ("Reserve a table for 5 people, please.", 5),
    ("I'd like a table for two.", 2),
    ("We need a table for 8 people.", 8),
    ("Could you reserve a table for seven?", 7),
    ("A table for four, please.", 4),
    ("Get us a table for 10 people.", 10),
    ("book a table, 3 people", 3),
    ("I want to book a table for 2.", 2),
    ("Book us a table in a restaurant, we are five people.", 5),
    ("table for 6", 6),
    ("Hello! Please reserve a table for nine people.", 9),
    ("预订两个人的桌子。", 2),
    ("请帮我订一张四人桌。", 4),
    ("订一个3个人的桌子", 3),
    ("我们五个人，请订一张桌子。", 5),
    ("帮我预订6个人的餐桌。", 6),
)
FLOW = (
    "Show the sales of this year.",
    "How were our sales?",
    "Draw a chart of the sales.",
    "sales please",
    "Can I see this year's sales as a chart?",
    "What did we sell each month?",
    "Which month was the best?",
    "显示今年的销售额。",
    "今年卖得怎么样？",
    "画一张销售图。",
)
# The same flow, asked of the default assistant.
CHART = (
    "Show me a chart of the sales",
    "Draw a chart of this year's sales.",
    "Can you plot our sales by month?",
    "sales chart please",
    "I'd like to see the monthly sales as a bar chart.",
    "graph the sales of this year",
    "Visualize the sales per month",
    "给我看今年的销售图表",
    "画一张销售额的柱状图",
    "请用图表显示每个月的销售额",
)
