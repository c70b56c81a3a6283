"""Plugins and questions whose words differ from the descriptions."""

PLUGINS: dict[str, tuple[str, str, dict[str, str]]] = {
    "hosts": (
        "Hosts",
        "Managed servers: addresses, state, vulnerabilities",
        {"list": "List managed servers", "cves": "Vulnerabilities of a server"},
    ),
    "weather": (
        "Weather",
        "Weather now and in the coming days",
        {"now": "Temperature and wind in a city", "forecast": "Forecast for a city"},
    ),
    "library": (
        "Library",
        "Books of the town library",
        {"search": "Search by title or author", "reserve": "Reserve for pickup"},
    ),
    "payroll": (
        "Payroll",
        "Salaries, payslips and taxes of employees",
        {"slip": "Payslip of a month", "tax": "Taxes of a year"},
    ),
    "travel": (
        "Travel",
        "Trains, flights and hotels for business trips",
        {"train": "Train connections", "hotel": "Hotels near an address"},
    ),
    "stock": (
        "Warehouse",
        "What is in stock and where",
        {"level": "Quantity of an article", "move": "Move an article"},
    ),
    "crm": (
        "Customers",
        "Customers, contacts and contracts",
        {"find": "Find a customer", "contract": "Contract of a customer"},
    ),
    "build": (
        "Builds",
        "Continuous integration: builds and test results",
        {"last": "Result of the latest run", "log": "Log of a run"},
    ),
    "tickets": ("Tickets", "Support tickets", {"open": "Open a ticket", "search": "Search tickets"}),
    "calendar": ("Calendar", "Meetings and rooms", {"free": "Free rooms", "book": "Book a room"}),
    "news": ("News", "Articles of the press", {"latest": "Latest articles", "topic": "Articles on a topic"}),
    "rates": ("Exchange rates", "Rates between currencies", {"rate": "Rate of a day", "history": "Rates over time"}),
}
"""Id → name, description, operations."""

QUESTIONS: list[tuple[str, str]] = [
    ("Which machines need patching?", "hosts"),
    ("What is the IP of web-01?", "hosts"),
    ("Do I need an umbrella tomorrow in Oslo?", "weather"),
    ("Will it snow on Saturday?", "weather"),
    ("Has anybody borrowed Moby-Dick?", "library"),
    ("I would like to read something by Le Guin", "library"),
    ("How much did I earn in March?", "payroll"),
    ("What was withheld from my wages?", "payroll"),
    ("How do I get to Berlin by noon?", "travel"),
    ("Somewhere to sleep near the fair", "travel"),
    ("How many M6 screws do we have left?", "stock"),
    ("Where do we keep the pallets of paper?", "stock"),
    ("Who is our contact at Acme?", "crm"),
    ("When does the agreement with Acme end?", "crm"),
    ("Why is main red?", "build"),
    ("Did the nightly pass?", "build"),
    ("My laptop does not start, please tell IT", "tickets"),
    ("Has someone reported the broken printer?", "tickets"),
    ("Where can six of us sit together at three?", "calendar"),
    ("Put us somewhere quiet on Friday at ten", "calendar"),
    ("What happened in the election?", "news"),
    ("What do the papers say about the strike?", "news"),
    ("How many yen do I get for 100 euros?", "rates"),
    ("Has the dollar become cheaper?", "rates"),
    ("明天上海会下雨吗？", "weather"),
    ("我的笔记本坏了，帮我报修", "tickets"),
    ("去北京最早的火车几点？", "travel"),
    ("上个月我的工资是多少？", "payroll"),
]
