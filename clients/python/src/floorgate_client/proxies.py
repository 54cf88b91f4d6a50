"""Proxies of the environment, which httpx reads only for transports that it makes itself."""

from urllib.request import getproxies, proxy_bypass

import httpx


def proxy_for(address: str) -> str | None:
    """Return the address of the proxy to a service, of `HTTPS_PROXY`, `NO_PROXY` and the like."""
    url = httpx.URL(address)
    if proxy_bypass(url.host) or proxy_bypass(url.netloc.decode()):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy
