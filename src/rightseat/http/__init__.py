"""An HTTP/1.1 client for answers that arrive token by token.

client.py keeps connections and asks; response.py is one answer as it comes in. Redirects are not followed,
cookies not kept, proxies not used, bodies not decompressed: what a server says is what is read.
"""

from rightseat.http.client import Client, ConnectTimeout, request_head
from rightseat.http.response import Cut, NotHttp, Response

__all__ = ["Client", "ConnectTimeout", "Cut", "NotHttp", "Response", "request_head"]
