"""Shares, coins and currencies that a question names, as ticker symbols."""

from __future__ import annotations

import re
from collections.abc import Container

_COMPANIES = """
AAPL apple 苹果
MSFT microsoft 微软
NVDA nvidia 英伟达
GOOGL google alphabet 谷歌
AMZN amazon 亚马逊
META meta_platforms facebook 脸书
TSLA tesla 特斯拉
AVGO broadcom 博通
AMD advanced_micro_devices 超威
INTC intel 英特尔
ORCL oracle 甲骨文
CRM salesforce
ADBE adobe
NFLX netflix 奈飞 网飞
IBM ibm
CSCO cisco 思科
QCOM qualcomm 高通
TXN texas_instruments 德州仪器
MU micron 美光
ASML asml 阿斯麦
TSM tsmc taiwan_semiconductor 台积电
KO coca-cola coca_cola coke 可口可乐
PEP pepsi pepsico 百事
WMT walmart 沃尔玛
COST costco 好市多 开市客
TGT target_corp 塔吉特
HD home_depot 家得宝
MCD mcdonald's mcdonalds mcdonald 麦当劳
SBUX starbucks 星巴克
NKE nike 耐克
DIS disney walt_disney 迪士尼
JPM jpmorgan jp_morgan 摩根大通
BAC bank_of_america 美国银行
GS goldman_sachs goldman 高盛
MS morgan_stanley 摩根士丹利
C citigroup citi 花旗
WFC wells_fargo 富国银行
V visa 维萨
MA mastercard 万事达
PYPL paypal 贝宝
BRK.B berkshire berkshire_hathaway 伯克希尔
XOM exxon exxon_mobil exxonmobil 埃克森美孚 埃克森
CVX chevron 雪佛龙
SHEL shell 壳牌
BP bp
JNJ johnson_&_johnson johnson_and_johnson 强生
PFE pfizer 辉瑞
MRK merck 默克
LLY eli_lilly lilly 礼来
UNH unitedhealth united_health 联合健康
ABBV abbvie 艾伯维
BA boeing 波音
CAT caterpillar 卡特彼勒
GE general_electric 通用电气
GM general_motors 通用汽车
F ford 福特
UBER uber 优步
ABNB airbnb 爱彼迎
PLTR palantir
COIN coinbase
SHOP shopify
BABA alibaba 阿里巴巴 阿里
JD jd.com 京东
PDD pinduoduo 拼多多
BIDU baidu 百度
NIO nio 蔚来
TM toyota 丰田
SONY sony 索尼
PG procter_&_gamble procter_and_gamble procter 宝洁
VZ verizon 威瑞森
T at&t
SPY spdr_s&p_500
QQQ nasdaq_100_etf
"""
_COINS = """
BTC bitcoin 比特币
ETH ethereum ether 以太坊 以太币
SOL solana
XRP ripple 瑞波币
DOGE dogecoin 狗狗币
ADA cardano
BNB binance_coin 币安币
LTC litecoin 莱特币
"""
_NO_TICKERS_WORDS = """
EPS USD US USA UK EU ETF ETFS GDP CPI PPI PE PB PS PEG IV PMI AI CEO CFO COO YTD QTD MTD ATH FX EUR GBP JPY CNY AUD
CAD CHF HKD ROE ROA ROI FCF EBIT EBITDA AUM NAV IPO TTM FY HY LTM OK Q QQ YOY MOM QOQ TER API CSV JSON PDF SEC FED
FOMC ECB BOE BOJ OPEC WTI NYSE OI ITM OTM ATM PNL DCF CAGR REIT REITS ESG RD SGA COGS CAPEX OPEX DPS BPS BP BPS PLS
THX TOP MAX MIN AVG SUM AND OR THE FOR IN ON AT OF TO BY VS WHAT WHICH HOW WHO IS ARE WAS DID DO I A ME MY
"""
_NO_TICKERS = frozenset(_NO_TICKERS_WORDS.split())
_UPPER = re.compile(r"(?<![A-Za-z0-9.&/-])\$?([A-Z]{1,5}(?:[.-][A-Z]{1,4})?)(?![A-Za-z0-9])")
_MARKED = re.compile(r"\$([A-Za-z]{1,5})(?![A-Za-z0-9])|[(（]\s*([A-Z]{1,5}(?:[.-][A-Z]{1,4})?)\s*[)）]")
_LOWER_WORD = re.compile(r"(?<![A-Za-z0-9.])([a-z]{3,5})(?![A-Za-z0-9'])")


def _read_names(text: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for line in text.strip().splitlines():
        symbol, *aliases = line.split()
        names |= {alias.replace("_", " "): symbol for alias in aliases}
    return names


COMPANY_NAMES = _read_names(_COMPANIES)
COIN_NAMES = _read_names(_COINS)
KNOWN_SYMBOLS = frozenset((*COMPANY_NAMES.values(), *COIN_NAMES.values()))
# Lower-case words that are tickers too: `what is the cost`, `all`.
_WORDS_NOT_SYMBOLS = frozenset(["cost", "coin", "shop", "uber", "ford", "ms", "ma"])
TICKER = re.compile(r"\^?[A-Z][A-Z0-9]{0,5}(?:[.=-][A-Z]{1,4})?")


def looks_like_ticker(value: object) -> bool:
    return isinstance(value, str) and TICKER.fullmatch(value) is not None


def find_tickers(question: str, known: Container[str] = ()) -> list[str]:
    """Return the tickers that a question names, by symbol, company or coin, in its order. `known`: symbols that are
    accepted in lower case too."""
    found: dict[str, int] = {}
    for match in _MARKED.finditer(question):
        symbol = (match[1] or match[2]).upper()
        if match[1] or symbol not in _NO_TICKERS:
            found.setdefault(symbol, match.start())
    for match in _UPPER.finditer(question):
        symbol = match[1]
        is_plain = symbol not in _NO_TICKERS and (len(symbol) > 1 or symbol in known)
        # A shouted question has no symbols in it.
        if is_plain and (symbol in known or symbol in KNOWN_SYMBOLS or not question.isupper()):
            found.setdefault(symbol, match.start(1))
    for match in _LOWER_WORD.finditer(question):
        symbol = match[1].upper()
        if symbol in known or (symbol in KNOWN_SYMBOLS and match[1] not in _WORDS_NOT_SYMBOLS):
            found.setdefault(symbol, match.start(1))
    lowered = question.lower()
    for name, symbol in (*COMPANY_NAMES.items(), *COIN_NAMES.items()):
        at = find_name(lowered, name)
        if at >= 0 and symbol not in found:
            found[symbol] = at
    return sorted(found, key=lambda symbol: found[symbol])


def find_name(text: str, name: str) -> int:
    """Return where a text has a name as a word of its own; -1 if it does not."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if name[0] > "\u2e7f" or not ((before.isascii() and before.isalnum()) or (after.isascii() and after.isalnum())):
            return at
        at = text.find(name, at + 1)
    return -1


def list_aliases(symbol: str) -> list[str]:
    """Return the names of a symbol's company or coin."""
    base = symbol.partition("-")[0].upper()
    names = (*COMPANY_NAMES.items(), *COIN_NAMES.items())
    return [name for name, other in names if other in (symbol.upper(), base)]
