from rightseat import tool

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun")
SALES = (120, 132, 101, 134, 190, 230)


@tool
def monthly_sales() -> list[dict[str, object]]:
    """The sales of each month of this year, in thousands."""
    return [{"month": month, "sales": number} for month, number in zip(MONTHS, SALES, strict=True)]
