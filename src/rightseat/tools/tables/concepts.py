"""Concepts of finance and of tables with their English and Chinese phrases, and concepts that stand for others."""

from __future__ import annotations

# concept | English phrases | Chinese phrases
CONCEPTS = """
close | close, closed, closes, closing, closing price, close price, settle, settlement | 收盘价, 收盘, 收市价, 收市, \
收于
open | open, opened, opening, opening price, open price | 开盘价, 开盘, 开市价
high | high, day high, daily high, intraday high, high price | 最高价, 盘中高点
low | low, day low, daily low, intraday low, low price | 最低价, 盘中低点
price | price, prices, quote, quotes, cost per share | 价格, 股价, 报价, 价位, 现价, 单价, 价钱
last | last price, last traded, last trade, trading at, trade at, trades at, quoted at | 最新价, 最后成交价, 成交价
volume | volume, shares traded, trading volume, turnover volume | 成交量, 交易量
bid | bid, bid price | 买价, 买入价
ask | ask, asks, ask price | 卖价, 卖出价
offer_price | offer price, ipo price, issue price, offering price | 发行价, 招股价, 发行价格
strike | strike, strikes, strike price | 行权价, 执行价
expiry | expiry, expiration, expires, expire, expiring, expiration date, runs out, run out, running out, lapse, \
lapses, end date | 到期日, 行权日, 截止日期
open_interest | open interest, oi | 未平仓, 持仓量, 未平仓合约, 未平仓量
implied_volatility | implied volatility, implied vol, iv | 隐含波动率
volatility | volatility, vol, volatile | 波动率, 波动
put | put, puts, put option, put options | 看跌, 认沽, 看跌期权, 认沽期权
call | calls, call option, call options | 看涨, 认购, 看涨期权, 认购期权
option | option, options, option chain, chain | 期权
delta | delta | 德尔塔
gamma | gamma | 伽马
revenue | revenue, revenues, sales, net sales, turnover, top line | 营收, 营业收入, 营业额, 收入, 销售额, 总收入
cost_of_revenue | cost of revenue, cost of sales, cogs, cost of goods sold | 营业成本, 销售成本
gross_profit | gross profit | 毛利, 毛利润
gross_margin | gross margin | 毛利率
operating_income | operating income, operating profit, ebit | 营业利润, 经营利润, 营运利润
operating_margin | operating margin | 营业利润率, 经营利润率
net_income | net income, net profit, net earnings, bottom line | 净利润, 净利, 净收益, 净收入
net_margin | net margin, profit margin | 净利率, 净利润率, 利润率
margin | margin | 率差
ebitda | ebitda | 息税折旧摊销前利润
eps | eps, earnings per share, earnings a share | 每股收益, 每股盈余, 每股盈利, 每股净收益
estimate | estimate, estimates, estimated, forecast, forecasts, consensus, expected, expectation, expectations | \
预估, 预期, 估计, 预测, 一致预期
actual | actual, came in, come in, printed, reported, realised, realized | 实际
surprise | surprise, surprises, beat, beats, exceeded | 超预期, 惊喜, 超出预期
previous | previous, prior | 前值, 上期
dividend | dividend, dividends, distribution, distributions, payout per share | 股息, 分红, 派息, 股利, 红利
dividend_yield | dividend yield | 股息率, 股息收益率
ex_date | ex date, ex dividend date, ex dividend | 除息日, 除权日, 除权除息日
pay_date | payment, payment date, pay date, payable date | 派息日, 支付日, 发放日, 支付, 付款, 发放
record_date | record date | 登记日, 股权登记日
declaration_date | declaration date, declared | 宣布日, 公告日
payout_ratio | payout ratio | 派息率, 分红率, 派息比率
market_cap | market cap, market capitalization, market capitalisation, mkt cap, mcap, capitalization, capitalisation \
| 市值, 总市值
market_value | market value, position value, value of position | 持仓市值, 持仓价值
pe | pe, p e, pe ratio, p e ratio, price to earnings, price earnings, trailing pe, earnings multiple | 市盈率
forward_pe | forward pe, forward p e | 预期市盈率, 远期市盈率, 动态市盈率
pb | pb, p b, price to book, pb ratio | 市净率
ps | p s, price to sales, ps ratio | 市销率
peg | peg, peg ratio | 市盈增长比率
roe | roe, return on equity | 净资产收益率, 股本回报率, 股东权益回报率
roa | roa, return on assets | 资产回报率, 总资产收益率
debt_to_equity | debt to equity, debt equity | 债务股本比, 负债权益比
current_ratio | current ratio | 流动比率
beta | beta | 贝塔, 贝塔系数, 贝他
sharpe | sharpe, sharpe ratio | 夏普, 夏普比率
total_assets | total assets, assets | 总资产, 资产总额, 资产
current_assets | current assets | 流动资产
total_liabilities | total liabilities, liabilities | 总负债, 负债总额, 负债
current_liabilities | current liabilities | 流动负债
debt | debt, debts, total debt, borrowings | 债务, 总债务, 借款
long_term_debt | long term debt | 长期债务, 长期负债
equity | equity, shareholders equity, stockholders equity, shareholder equity, book value, net assets | 股东权益, \
净资产, 所有者权益
cash | cash, cash and equivalents, cash and cash equivalents, cash balance | 现金, 现金及等价物, 货币资金
inventory | inventory, inventories, stockpile, stockpiles | 存货, 库存
receivables | receivables, accounts receivable | 应收账款
operating_cash_flow | operating cash flow, cash from operations, cash flow from operations, operating cashflow | \
经营现金流, 经营活动现金流, 经营性现金流
free_cash_flow | free cash flow, fcf, free cashflow | 自由现金流
cash_flow | cash flow, cashflow | 现金流
capex | capex, capital expenditure, capital expenditures | 资本支出, 资本开支
buyback | buyback, buybacks, repurchase, repurchases, share repurchase, share repurchases | 回购, 股份回购
dividends_paid | dividends paid | 支付股息, 派发股息, 已付股息, 支付的股息
research | research, r&d, r d, rnd, research and development | 研发, 研发费用, 研发支出, 研发投入
tax | tax, taxes, income tax | 税, 所得税, 税费
interest_expense | interest expense | 利息支出, 利息费用
employees | employees, employee, headcount, staff, full time employees, workforce | 员工, 员工数, 雇员, 员工人数
weight | weight, weights, weighting, allocation, portfolio weight | 权重, 占比, 比重, 仓位, 配置
shares | shares, share count, number of shares, units held | 股数, 股份, 持股, 持股数, 多少股
holding | hold, holds, held, own, owns, owned, stake, stakes, ownership, holding, holdings, position, positions, \
portfolio, constituent, constituents | 持仓, 持有, 组合, 投资组合, \
成分股, 重仓
cost_basis | cost basis, average cost, avg cost, purchase price, buy price, entry price | 成本价, 持仓成本, \
买入成本, 平均成本, 买入价格
gain | gain, gains, gain loss, pnl, p l, profit and loss, unrealized gain, unrealised gain, unrealized pnl, \
unrealised pnl | 盈亏, 浮盈, 浮动盈亏, 未实现盈亏
return | return, returns, performance, total return | 回报, 回报率, 收益率, 收益, 表现, 业绩
ytd | ytd, year to date | 年初至今, 今年以来
one_year | one year, 1 year, 1y, 1yr | 一年, 近一年
change_percent | change percent, percent change, change pct, pct change, percentage change | 涨跌幅, 涨幅, 跌幅
change | change, changes, net change | 涨跌, 涨跌额, 变动
sector | sector, sectors | 行业, 板块
industry | industry, industries | 细分行业, 产业
expense_ratio | expense ratio, expense ratios, ter, management fee, annual fee, fund fee | 费用率, 费率, 管理费, 总费率
fee | fee, fees, commission, commissions | 费用, 手续费, 佣金
aum | aum, assets under management, fund size, net asset | 管理规模, 资产规模, 基金规模, 规模
nav | nav, net asset value | 净值, 单位净值
premium | premium, discount | 溢价, 折价
inflow | inflow, inflows, flow, flows, outflow, outflows, net flow | 流入, 流出, 资金流, 净流入
rate | rate, rates, exchange rate, fx rate, exchange rates | 汇率, 兑换率, 比率
interest_rate | interest rate, interest rates, policy rate, fed funds, federal funds rate, base rate, deposit rate, \
repo rate | 利率, 基准利率, 政策利率, 存款利率
yield | yield, yields, yielding, yielded, yield to maturity, ytm, yield to worst, ytw | 收益率, 到期收益率, 孳息率
treasury | treasury, treasuries, government bond, government bonds, yield curve | 国债, 美债, 美国国债, 收益率曲线
maturity | maturity, maturities, matures, mature, maturing, maturity date, tenor, term | 期限, 到期, 到期时间
coupon | coupon, coupons | 票息, 票面利率
bond | bond, bonds | 债券
inflation | inflation, inflation rate, headline inflation, headline cpi, headline rate, cpi, consumer price, \
consumer prices, consumer price index | 通胀, 整体通胀, 通货膨胀, \
通胀率, 消费者价格, 消费者物价指数, 物价
core | core | 核心
ppi | ppi, producer price, producer prices | 生产者价格, 生产者物价指数
gdp | gdp, gross domestic product, economic output | 国内生产总值, 经济总量
growth | growth, growth rate | 增速, 增长率, 增幅
unemployment | unemployment, unemployment rate, jobless, jobless rate | 失业率, 失业
payrolls | payrolls, nonfarm payrolls, non farm payrolls, jobs added | 非农, 非农就业, 新增就业
retail_sales | retail sales | 零售销售, 零售额
pmi | pmi, purchasing managers | 采购经理人指数, 采购经理指数
population | population, inhabitants, populous | 人口
country | country, countries, nation, nations | 国家
region | region, regions | 地区, 区域
city | city, cities | 城市
lower_bound | lower, lower bound, floor | 下限
upper_bound | upper, upper bound, ceiling | 上限
ipo | ipo, ipos, going public, go public, goes public, listing, listings, list on, lists on, listed on | 上市, 新股, \
招股, 首次公开募股
exchange | exchange, exchanges | 交易所
status | status | 状态
invoice | invoice, invoices | 发票
currency | currency, currencies | 货币, 币种
pair | pair, pairs, currency pair, currency pairs | 货币对
crypto | crypto, cryptocurrency, cryptocurrencies, coin, coins, token, tokens | 加密货币, 虚拟货币, 代币, 币
circulating_supply | circulating supply, supply | 流通量, 供应量, 流通供应量
target | target, targets, price target, price targets, target price, target prices | 目标价, 目标价格, 目标位
rating | rating, ratings, recommendation, recommendations, rated, rate it | 评级, 推荐, 建议
analyst | analyst, analysts, broker, brokers, brokerage, firm, firms, bank, banks | 分析师, 券商, 机构, 投行
news | news, headline, headlines, article, articles, story, stories | 新闻, 头条, 报道, 消息, 资讯
title | title, titles | 标题
source | source, sources, publisher, outlet, media, newspaper | 来源, 媒体, 出处
event | event, events, release, releases, indicator, indicators, economic data | 事件, 数据发布, 指标, 公布
importance | importance, important, impact | 重要性, 重要, 重要程度
calendar | calendar, upcoming, coming up, schedule, scheduled | 日历, 日程, 即将
insider | insider, insiders, insider trading, insider trades | 内部人, 高管交易, 内幕人士, 内部人士, 内部交易, 高管
transaction | transaction, transactions, trade, trades, deal, deals | 交易, 成交, 买卖
filing | filing, filings, form | 申报, 公告, 文件
short_interest | short interest, shorted, short ratio, short percent of float, days to cover | 卖空, 做空, 空头, \
卖空比例, 做空比例
float | float, free float | 流通股
institution | institution, institutions, institutional, holder, holders, fund, funds, owner, owners, shareholder, \
shareholders | 机构投资者, 基金, 股东, 持有人
segment | segment, segments, division, divisions, business line, business unit, product line | 分部, 业务, 部门, \
业务线, 事业部
product | product, products | 产品
company | company, companies, stock, stocks, ticker, tickers, equities, names | 公司, 股票, 个股, 企业, 名称
symbol | symbol, symbols | 代码, 股票代码
name | name | 名字
issuer | issuer, issuers | 发行人, 发行方
ceo | ceo, chief executive, chief executive officer | 首席执行官, 总裁
cfo | cfo, chief financial officer | 首席财务官, 财务总监
executive | executive, executives, officer, officers, director, directors, management | 董事, 管理层, 高管团队
meeting | meeting, meetings, meet, meets | 会议, 开会
fed | fed, federal reserve | 美联储, 联储
ecb | ecb, european central bank | 欧洲央行
boe | boe, bank of england | 英国央行, 英格兰银行
boj | boj, bank of japan | 日本央行, 日本银行
snb | snb, swiss national bank | 瑞士央行
pboc | pboc, people's bank of china | 中国央行, 中国人民银行
central_bank | central bank, central banks | 央行, 中央银行
compensation | compensation, pay, salary, salaries, remuneration | 薪酬, 薪水, 工资
amount | amount, amounts, money, how much money, spend, spent, spending, expense, expenses, cost, costs, paid, bill, \
bills | 金额, 花费, 支出, 开销, 成本, 花了, 数额, 多少钱
value | value, values, valued, worth | 价值, 数值, 总值
quantity | quantity, quantities, qty, units, unit | 数量, 件数, 份数, 销量
score | score, scores, points | 评分, 得分, 分数
rank | rank, ranks, ranking | 排名
sold | sold, sell, sells, sale | 售出, 卖出
bought | bought, buy, buys, purchase, purchases, purchased | 买入
budget | budget, budgets, budgeted | 预算
metrics | metrics, key metrics, ratios, ratio, fundamentals, valuation, statistics, key figures | 比率, 基本面, \
估值, 关键指标
profile | profile, overview, company information | 概况, 简介, 公司信息
category | category, categories | 类别, 分类, 项目
client | client, clients, customer, customers | 客户
month | month, months | 月份
quarter | quarter, quarters, quarterly | 季度, 季
year | year, years, annual, annually, yearly, fiscal year, fiscal | 年度, 年份, 财年, 财年
date | date, dates, day, days, daily | 日期
period | period, periods | 期间, 时期, 报告期
week | week, weeks, weekly | 周
gold | gold, xau | 黄金, 金价
silver | silver, xag | 白银
copper | copper | 铜
oil | oil, crude, crude oil, wti | 原油, 石油, 油价
brent | brent | 布伦特
natural_gas | natural gas, nat gas, gas | 天然气
wheat | wheat | 小麦
corn | corn | 玉米
commodity | commodity, commodities, futures | 大宗商品, 商品, 期货
index | index, indices, indexes | 指数
export | export, exports | 出口
import | import, imports | 进口
tariff | tariff, tariffs | 关税
curb | curb, curbs, control, controls, restriction, restrictions, ban, bans | 管制, 限制, 禁令
merger | merger, mergers, acquisition, acquisitions, acquire, acquires, takeover, buyout | 收购, 并购, 合并
lawsuit | lawsuit, lawsuits, sue, sues, court, antitrust | 诉讼, 起诉, 反垄断, 官司
layoff | layoff, layoffs, job cuts, cuts jobs | 裁员
chip | chip, chips, semiconductor, semiconductors | 芯片, 半导体
ai | ai, artificial intelligence | 人工智能
earnings | earnings, results, quarterly results | 财报, 业绩报告, 盈利报告
statement | statement, statements, income statement, financial statement, financial statements, profit and loss \
statement | 报表, 利润表, 损益表
balance_sheet | balance sheet | 资产负债表
rent | rent, rents | 租金
temperature | temp, temperature, temperatures, degrees | 温度, 气温
technology | technology, tech, information technology | 科技, 技术, 信息技术
energy | energy | 能源
health_care | health care, healthcare, pharma | 医疗, 医疗保健, 医药, 健康
financials | financials, financial | 金融
utilities | utilities, utility | 公用事业
industrials | industrials, industrial | 工业
materials | materials | 原材料, 材料
real_estate | real estate, property | 房地产, 地产
staples | consumer staples, staples | 必需消费品, 必需消费, 日常消费
discretionary | consumer discretionary, discretionary | 可选消费, 非必需消费品, 非必需消费
communication | communication services, communications, communication | 通信, 通讯, 通信服务, 通讯服务
buy_rating | strong buy, overweight, outperform | 买入评级
medium | medium | 中等
china | china, chinese | 中国
usa | united states, us, usa, america, u s | 美国
japan | japan, japanese | 日本
germany | germany, german | 德国
france | france, french | 法国
uk | united kingdom, uk, britain, british | 英国
india | india, indian | 印度
brazil | brazil, brazilian | 巴西
canada | canada, canadian | 加拿大
korea | south korea, korea, korean | 韩国
italy | italy, italian | 意大利
spain | spain, spanish | 西班牙
australia | australia, australian | 澳大利亚, 澳洲
russia | russia, russian | 俄罗斯
mexico | mexico, mexican | 墨西哥
euro_area | euro area, eurozone, euro zone, eu, european union | 欧元区, 欧盟
switzerland | switzerland, swiss | 瑞士
norway | norway | 挪威
sweden | sweden | 瑞典
outstanding | outstanding, outstanding amount, outstanding balance, owe, owes, owed, owing | 未偿还, 未偿, 未偿还额, \
未偿余额, 未还, 欠款, 余额
shares_outstanding | shares outstanding, outstanding shares | 总股本, 流通在外股数
profit | profit, profits, earn, earns, earned, makes money, profitable | 利润, 盈利
spread | spread, spreads, credit spread | 利差, 信用利差, 点差
principal | principal, notional, notional amount, face value, par value, nominal | 本金, 名义本金, 面值
deposit | deposit, deposits | 存款, 押金, 保证金
balance | balance | 结余
occupancy | occupancy, occupancy rate | 入住率, 出租率, 占用率
vacancy | vacancy, vacancy rate | 空置率
room | room, rooms | 客房, 客房数, 房间, 房间数
daily_rate | daily rate, room rate, adr, average daily rate | 房价, 平均房价, 日均房价
area | area, floor area, floor space, square feet, sqft, sqm | 面积, 建筑面积
capacity | capacity, installed capacity | 产能, 容量, 装机容量
production | production, output, produced | 产量, 生产量
cargo | cargo | 货量, 货物, 载货量
freight | freight, freight rate | 运费, 运价
delivery | delivery, deliveries, delivered | 交付, 交付量
backlog | backlog, order backlog | 积压订单, 在手订单
order | orders, bookings | 订单, 订单量
user | users | 用户, 用户数
subscriber | subscribers, subscriptions | 订阅, 订阅数, 订户
churn | churn, churn rate, attrition | 流失率
arpu | arpu, revenue per user | 每用户收入
store | stores, store count, outlets, branches | 门店, 门店数, 店铺, 网点
premium_income | premiums, written premiums | 保费, 保费收入
claim | claims | 赔付, 赔款
loss_ratio | loss ratio | 赔付率
combined_ratio | combined ratio | 综合成本率
default_rate | default rate | 违约率
npl | npl, npl ratio, non performing | 不良率, 不良贷款率, 不良贷款
ltv | ltv, loan to value | 贷款价值比
capital_ratio | capital ratio, capital adequacy | 资本充足率
cet1 | cet1, cet1 ratio | 核心一级资本, 核心一级资本充足率
reserve | reserves, proven reserves | 储备, 储量, 外汇储备
emission | emissions, co2 emissions, carbon emissions | 排放, 碳排放
liquidity | liquidity | 流动性
duration | duration, modified duration | 久期
convexity | convexity | 凸性
visitor | visitors, visits, footfall | 访客, 客流, 客流量, 访问量
conversion | conversion, conversion rate, convert, converts | 转化率
vwap | vwap | 成交量加权均价
turnover_rate | turnover rate, turnover ratio | 换手率
drawdown | drawdown, max drawdown, maximum drawdown | 回撤, 最大回撤
theta | theta | 西塔
vega | vega | 维加
goodwill | goodwill | 商誉
depreciation | depreciation, depreciation and amortization | 折旧
hash_rate | hash rate, hashrate | 算力
tvl | tvl, total value locked | 锁仓量, 总锁仓价值
sga | sg&a, selling general and administrative | 销售及管理费用
trade_balance | trade balance, trade surplus, trade deficit | 贸易差额, 贸易顺差, 贸易逆差
wage | wage, wages, hourly earnings | 时薪, 薪资
confidence | confidence, sentiment | 信心, 信心指数, 情绪
upgrade | upgrade, upgraded, upgrades, upgrading | 上调, 升级, 调高
downgrade | downgrade, downgraded, downgrades, downgrading | 下调, 降级, 调低
reiterate | reiterate, reiterated, maintain, maintained, maintains | 维持, 重申
overdue | overdue, past due, late payment | 逾期, 过期, 拖欠
unpaid | unpaid | 未付, 未支付, 未付款
special | special, specials | 特别, 特殊
regular | regular, ordinary | 定期, 普通, 常规
pending | pending | 待定, 待处理
usd | usd, us dollar, dollar, dollars | 美元
eur | eur, euro, euros | 欧元
gbp | gbp, pound, pounds, sterling, cable | 英镑
jpy | jpy, yen | 日元
cny | cny, yuan, renminbi, rmb, cnh | 人民币
aud | aud, aussie, australian dollar | 澳元
cad | cad, loonie, canadian dollar | 加元
chf | chf, franc, swiss franc | 瑞士法郎, 瑞郎
hkd | hkd, hong kong dollar | 港元, 港币
"""
# A word of a question that stands for another concept, where the table has none of its own.
RELATED: dict[str, tuple[str, ...]] = {
    "price": ("close", "last", "nav", "value", "amount"),
    "last": ("close", "price"),
    "close": ("price", "last"),
    "earnings": ("eps", "net_income"),
    "net_income": ("profit", "gain"),
    "profit": ("net_income", "operating_income", "gross_profit", "gain"),
    "outstanding": ("debt", "principal", "balance", "amount"),
    "principal": ("amount",),
    "balance": ("outstanding", "amount"),
    "shares_outstanding": ("shares",),
    "order": ("quantity",),
    "expiry": ("maturity",),
    "maturity": ("expiry",),
    "spread": ("yield", "rate"),
    "unpaid": ("overdue", "outstanding"),
    "amount": ("value", "fee", "price"),
    "value": ("market_value", "amount", "price"),
    "market_value": ("value", "market_cap", "amount"),
    "offer_price": ("ask", "price"),
    "market_cap": ("market_value",),
    "return": ("change_percent", "yield", "gain"),
    "yield": ("rate", "return", "interest_rate", "dividend_yield"),
    "change_percent": ("change", "return"),
    "change": ("change_percent",),
    "rate": ("interest_rate", "yield", "price", "close"),
    "interest_rate": ("rate", "value"),
    "debt": ("total_liabilities",),
    "dividend": ("dividends_paid", "amount"),
    "dividends_paid": ("dividend",),
    "shares": ("quantity", "holding"),
    "quantity": ("shares", "sold"),
    "sold": ("quantity", "revenue"),
    "weight": ("value",),
    "estimate": ("consensus",),
    "cash_flow": ("operating_cash_flow", "free_cash_flow"),
    "target": ("price",),
    "expense_ratio": ("fee",),
    "fee": ("expense_ratio", "amount"),
    "treasury": ("yield",),
    "gain": ("return", "change"),
    "growth": ("change_percent", "change"),
    "inflation": ("value", "rate"),
    "gdp": ("value", "growth"),
    "unemployment": ("value", "rate"),
    "company": ("symbol", "name", "issuer"),
    "symbol": ("company",),
    "name": ("company",),
    "analyst": ("institution",),
    "institution": ("analyst",),
    "curb": ("tariff",),
    "score": ("rating",),
    "population": ("value",),
    "compensation": ("amount",),
    "rent": ("amount",),
}
# Quantities that two columns of a source give.
DERIVED: dict[str, tuple[str, str]] = {
    "gross_margin": ("gross_profit", "revenue"),
    "operating_margin": ("operating_income", "revenue"),
    "net_margin": ("net_income", "revenue"),
    "roe": ("net_income", "equity"),
    "roa": ("net_income", "total_assets"),
    "debt_to_equity": ("debt", "equity"),
    "current_ratio": ("current_assets", "current_liabilities"),
    "trade_balance": ("export", "import"),
    "surprise": ("actual", "estimate"),
}
