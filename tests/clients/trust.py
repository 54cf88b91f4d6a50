"""Trust in the certificate that the demo service has made for itself."""

import ssl

from tests.rest.demo_service import DemoService


def trust_of(demo: DemoService) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=demo.certificate)
