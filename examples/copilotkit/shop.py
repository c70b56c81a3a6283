"""The tools of the order desk: they run here, on the server, whichever page or client asks."""

from rightseat import tool

ORDERS = {
    "A7": {"item": "Desk lamp", "status": "on its way"},
    "B2": {"item": "Bookshelf", "status": "packed"},
    "C9": {"item": "Armchair", "status": "delivered"},
}
UNKNOWN = {"item": "no such order", "status": "unknown"}


@tool
def find_order(number: str) -> dict[str, str]:
    """Say what an order is and where it is.

    Args:
        number: The order's number, such as A7.
    """
    return ORDERS.get(number, UNKNOWN)


@tool(confirm=True)
def cancel_order(number: str) -> str:
    """Cancel an order. A person is asked first.

    Args:
        number: The order's number, such as A7.
    """
    if number not in ORDERS:
        return f"There is no order {number}."
    ORDERS[number] = {**ORDERS[number], "status": "cancelled"}
    return f"{number} is cancelled."
