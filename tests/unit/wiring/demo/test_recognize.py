"""Questions for the demo tools, recognized by rules: wordings that are meant, and wordings that only look so."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from rightseat.wiring.demo.recognize import match_booking, match_clock, match_sales
from rightseat.wiring.demo.shortcuts import SHORTCUTS
from tests.kit.cases import each_case

CLOCK = (
    "What time is it?",
    "what time is it",
    "What time is it right now?",
    "Hi, what time is it now please?",
    "What's the time?",
    "What is the current time?",
    "what’s the current time in UTC?",
    "current utc time and date please",
    "Current time",
    "UTC time?",
    "the time, please",
    "time?",
    "Tell me the time.",
    "Can you tell me the time?",
    "Could you please tell me what time it is?",
    "Do you know what time it is?",
    "I'd like to know the current date and time.",
    "Give me the date and time",
    "What's the date today?",
    "What is today's date?",
    "Do you have the time?",
    "Please show me the current date and the time",
    "Check the clock",
    "Hello! What time is it, please?",
    "What is the time at the moment?",
    "WHAT TIME IS IT???",
    "现在几点了？",
    "请问现在几点？",
    "现在是几点钟？",
    "几点了",
    "请告诉我现在的时间。",
    "当前时间是多少？",
    "现在的UTC时间是多少？",
    "今天几号？",
    "今天是几月几号？",
    "帮我看一下现在几点",
    "你好，请问现在是什么时间？",
    "现在时间",
    "你知道现在几点吗？",
    "我想知道当前日期和时间",
)
NO_CLOCK = (
    "What time is it in New York?",
    "what time is it in Tokyo right now",
    "What time does the shop open?",
    "What time is the meeting?",
    "What time is it when the clock strikes 13?",
    "What is time?",
    "What's the time complexity of quicksort?",
    "What was the date of the moon landing?",
    "How long does it take to boil an egg?",
    "Set a timer for ten minutes",
    "What time zone is Berlin in?",
    "Once upon a time there was a cat.",
    'Translate "What time is it?" into French',
    "Summarise: what time is it is a common question",
    "How do you ask what time it is in Spanish?",
    "Tell me the time of the next train",
    "Is it time for lunch?",
    "What date is Easter?",
    "Which year is it in the Chinese calendar?",
    "What time did the war end?",
    "Give me a date idea",
    "What is the best time to plant tomatoes?",
    "It is 10:30 in London, what time is it in Paris?",
    "Is today a good time to buy shares?",
    "Write a poem about time",
    "纽约现在几点？",
    "北京时间现在几点？",
    "商店几点开门？",
    "什么时候？",
    "几点？",
    "什么是时间？",
    "会议是几点？",
    "时间管理有什么技巧？",
    "明天几号？",
    "“现在几点了”用英语怎么说？",
    "今天天气怎么样？",
    "春节是几号？",
    "几点睡觉比较好？",
    "",
    "   ",
)
BOOKING = (
    ("Book a table for 4", 4),
    ("Book a table for two people.", 2),
    ("Please book a table for three.", 3),
    ("Can you book a table for six people?", 6),
    ("Reserve a table for 5 people, please.", 5),
    ("reserve a table for 12", 12),
    ("I'd like a table for two.", 2),
    ("I would like to book a table for 7 persons", 7),
    ("We need a table for 8 people.", 8),
    ("A table for four, please.", 4),
    ("Table for two, please!", 2),
    ("Get us a table for ten", 10),
    ("book a table, 3 people", 3),
    ("Book us a table in a restaurant, we are five people.", 5),
    ("We are 6 people, please book a table.", 6),
    ("Make a reservation for 4 people", 4),
    ("Can you make a dinner reservation for two tonight?", 2),
    ("Book a table for 4 tonight at 7 pm", 4),
    ("Book a table tonight for 2", 2),
    ("Reserve a table for 3 at an Italian restaurant on Friday", 3),
    ("Book a table for me and my girlfriend", 2),
    ("Could you book a table for my wife and me?", 2),
    ("Book a table for me and two friends please", 3),
    ("Book a table for me, my wife and my two kids", 4),
    ("book a table for a party of eleven", 11),
    ("Book a table for the two of us", 2),
    ("book a table for one person", 1),
    ("帮我订一张三个人的桌子", 3),
    ("预订两个人的桌子。", 2),
    ("请帮我订一张四人桌。", 4),
    ("订一个3个人的桌子", 3),
    ("我们五个人，请订一张桌子。", 5),
    ("帮我预订6个人的餐桌。", 6),
    ("我想订一张十二人的餐桌", 12),
    ("订张桌子，四个人", 4),
    ("帮我预订今晚七点两个人的桌子", 2),
    ("给我和女朋友订一张桌子", 2),
    ("我想预定一张两个人的桌子，今晚八点", 2),
    ("Can we have a table for 3?", 3),
    ("帮我和我老婆订个位子", 2),
    ("能不能帮我订一张８人的桌子？谢谢", 8),
    ("麻烦给我们订一个六人位", 6),
    ("请问可以预订三位的座位吗", 3),
    ("我要订桌，一共5个人", 5),
)
NO_BOOKING = (
    "Book a table",
    "Book a table for us",
    "Book a table for tonight",
    "Book a table at 7",
    "Book a table for 7 pm",
    "Book a flight for 2 people",
    "Book a flight to Paris for 2",
    "Book a hotel room for two",
    "Book two tickets for the concert",
    "Book 2 tables",
    "Book two tables for 4",
    "Book a table for 0 people",
    "Book a table for 500 people",
    "Summarise: The cat sat on the mat. A table for two was booked.",
    "Summarise: Book a table for 4",
    'Translate "Book a table for two" into German',
    "How do I book a table for 4?",
    "I booked a table for 4 yesterday",
    "Don't book a table for 4",
    "Cancel my table for 4",
    "What is a table for 4 called?",
    "Make a table for 4 products",
    "Get me a table for 4 columns",
    "Create a table with 2 columns and 4 rows",
    "Show the multiplication table for 7",
    "Two people sat at a table",
    "Recommend a good restaurant for two people",
    "Can you book tables?",
    "Write an email to book a table for 6",
    "I need a coffee table for 4 people under 100 euros",
    "Me and my girlfriend are fighting",
    "The book is on the table for 2 days",
    "Is it possible to book a table for 4 without a card?",
    "Book a table for 4 and order a taxi",
    "Book a table for 4 or 5 people",
    "Order a table for 4 people online",
    "We have a table for 4",
    "The table for 4 was too small",
    "Which book has a table for two on its cover?",
    "帮我订一张桌子",
    "帮我订两张机票",
    "订三份外卖",
    "预订两个人的酒店房间",
    "怎么订三个人的桌子？",
    "订两张桌子",
    "不要订三个人的桌子",
    "我昨天订了一张三个人的桌子",
    "总结：他们订了一张两个人的桌子",
    "“帮我订一张两个人的桌子”用英语怎么说",
    "三个人坐在桌子旁边",
    "给两个人推荐一家餐厅",
    "画一张两个人的桌子",
    "取消三个人的桌子",
    "今晚七点订桌",
    "",
)
SALES = (
    "Show me a chart of the sales",
    "Show me a chart of the sales.",
    "Show the sales of this year.",
    "Draw a chart of the sales",
    "Draw the sales by month",
    "Plot the sales",
    "Plot sales per month, please",
    "Can you plot this year's sales?",
    "Graph the sales of this year",
    "Make a bar chart of the sales",
    "Create a line chart of the monthly sales",
    "I want to see a sales chart",
    "I'd like to see the sales as a graph",
    "Can I see this year's sales as a chart?",
    "sales chart",
    "Sales chart please",
    "monthly sales graph",
    "Could you draw me a diagram of the sales for each month?",
    "Visualize the sales data",
    "Please visualise our sales by month",
    "Give me a graph of the sales figures",
    "Display the sales over the year",
    "show sales by month as a bar chart",
    "Let me see the sales numbers of this year",
    "Hi, can you show me a chart with the sales of this year?",
    "How were our sales?",
    "What do the sales look like this year?",
    "显示今年的销售额。",
    "画一张销售图。",
    "请画出今年的销售图表",
    "给我看看销售图",
    "用柱状图显示今年的销售额",
    "帮我画一张每月销售额的折线图",
    "把今年的销售数据做成图表",
    "我想看今年的销售趋势图",
    "展示各月的销售情况",
    "能不能画一个销售额的图？谢谢",
    "按月显示销售额",
    "请给我一张销售曲线图",
    "销售图表",
    "看看我们今年的销售额",
)
NO_SALES = (
    "Draw a cat",
    "Show me a chart",
    "Show me a chart of the population of France",
    "What is a sales chart?",
    "How do I draw a sales chart in Excel?",
    "Write Python code to plot sales",
    "Show me the sales of last year",
    "Show me the sales of 2019",
    "Show the sales in June",
    "Show the sales this month",
    "Show me a chart of sales by region",
    "Plot the sales per customer",
    "Draw a pie of apples",
    "Don't show me the sales",
    "Why are sales down?",
    "How can I increase my sales?",
    "Sales",
    "Show me jobs in sales",
    "What does a sales manager do?",
    "Write a sales pitch",
    "Who drew the sales chart?",
    "Summarise: the sales rose by 4 percent, as the chart shows",
    'Translate "show me a chart of the sales" into French',
    "Show the stock chart of Apple",
    "Plot x squared",
    "Draw a line",
    "Is there a garage sale? Show me",
    "Delete the sales chart",
    "I like the sales chart",
    "We see the sales in the chart",
    "Compare the sales of this year and last year in a chart",
    "Show me the sales tax rates",
    "Send the sales chart to my boss",
    "去年的销售额",
    "显示去年的销售图",
    "画一只猫",
    "画一张人口图表",
    "怎么提高销售额？",
    "销售经理是做什么的？",
    "按地区显示销售额",
    "不要画销售图",
    "用Python画销售图",
    "显示六月的销售额",
    "什么是销售图？",
    "“画一张销售图”用英语怎么说",
    "总结：今年的销售图很好看",
    "写一份销售计划",
    "把销售图发给老板",
    "",
)


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", CLOCK)
def test_a_question_for_the_time_is_recognized(question: str) -> None:
    assert match_clock(question) == {}


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", NO_CLOCK)
def test_another_question_about_times_is_not(question: str) -> None:
    assert match_clock(question) is None


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case(("question", "people"), BOOKING)
def test_a_request_for_a_table_is_recognized_with_its_number(question: str, people: int) -> None:
    assert match_booking(question) == {"people": people}


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", NO_BOOKING)
def test_another_request_books_nothing(question: str) -> None:
    assert match_booking(question) is None


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", SALES)
def test_a_request_for_the_sales_chart_is_recognized(question: str) -> None:
    assert match_sales(question) == {}


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", NO_SALES)
def test_another_request_draws_no_sales(question: str) -> None:
    assert match_sales(question) is None


@each_case(
    ("question", "people"),
    [
        ("A table for 4 people, 2 adults and 2 children, please", 4),
        ("Book a table for 4 people and 2 children", None),
        ("Book a table, 4 adults 2 kids", None),
        ("Book a table for 4 adults and 2 kids", 6),
        ("Book a table for me and 3 guests", 4),
        ("Book a table for 4 people plus a baby", None),
        ("Book a table for me and my wife and Tom", None),
        ("Book a table for Tom, me and my wife", None),
        ("Book a table for me, my wife and the kids", None),
        ("I need a table, I'm eating with 3 friends", None),
        ("If we need a table for 4, I will tell you", None),
        ("Book a table for 8 tomorrow, we are 5", None),
        ("Book a table for 6 if it's possible, tonight", 6),
        ("今晚七点四个人，帮我订个位", 4),
        ("我和老婆带孩子，订个位子", None),
        ("我和老婆和两个朋友，订个位子", None),
        ("我们和三个朋友吃饭，订个位子", None),
        ("我和三个朋友吃饭，订个位子", 4),
        ("给第4位客人订桌", None),
    ],
)
def test_people_are_counted_only_where_there_is_no_doubt(question: str, people: int | None) -> None:
    assert match_booking(question) == (None if people is None else {"people": people})


def test_no_question_is_for_two_tools() -> None:
    matchers = (match_clock, match_booking, match_sales)
    questions = (*CLOCK, *SALES, *(question for question, _ in BOOKING))
    assert all(sum(match(question) is not None for match in matchers) == 1 for question in questions)


HOSTILE = (
    "a table for " * 9,
    "订" * 119,
    "1" * 119,
    "please " * 17,
    "me and " * 17,
    ", " * 59,
    "销售" * 59,
    "book " * 39,
    "book us in " * 10,
    "book the a " * 10,
    "last few months " * 7,
)


@each_case("text", HOSTILE)
def test_a_hostile_text_is_read_at_once(text: str) -> None:
    start = time.process_time()
    for match in (match_clock, match_booking, match_sales):
        assert match(text) is None
        assert match(text * (20_000 // len(text))) is None
        assert match(text * 100_000) is None
    for shortcut in SHORTCUTS:
        shortcut.related.search(text)
        assert not shortcut.related.search(text * (20_000 // len(text)))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("match", [match_clock, match_booking, match_sales])
@pytest.mark.parametrize(
    "question",
    [
        "销售" + "看看" * 18 + "啊",
        "画" + "一个" * 30 + "销售图x",
        "table" + " for 5" * 19,
        "table for me" + " and me" * 15 + " x",
        "谢谢" * 55 + "x",
        "book a table " + "for 4, " * 26,
        "me and my wife, " * 12 + "table",
        "what time and date " * 10,
        "sales month best " * 11,
    ],
)
def test_a_question_of_repeated_words_takes_little_work(
    match: Callable[[str], dict[str, Any] | None], question: str
) -> None:
    start = time.process_time()
    match(question)
    assert time.process_time() - start < 1
