"""Answers over the rows of a client's table by rules, for models too small to compute.

`concepts` has the words of finance in English and Chinese; `words` finds them in texts; `tickers` finds shares and
coins that a question names; `times` reads dates and periods; `rows` types the columns of JSON rows; `ask` reads a
question's operation, times and numbers; `select` finds the rows and `columns` the columns that it is about; `figures`
computes over rows; `derived` computes from two columns; `wording` writes cells and numbers; `answer` puts the answer
together; `parameters` chooses a data source's arguments; `sources` ranks data sources by a question.
"""
