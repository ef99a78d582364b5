# syntax=docker/dockerfile:1
# The program alone on Debian, as a user without rights. See docs/operations.md.

FROM rust:1.95.0-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN cargo build --release --locked --package remembrancer \
    && install -D --mode=0755 target/release/remembrancer /out/remembrancer

FROM debian:12.12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 remembrancer \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/remembrancer \
        --shell /usr/sbin/nologin remembrancer \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/remembrancer
COPY --from=build /out/remembrancer /usr/local/bin/remembrancer

USER 10001:10001
WORKDIR /var/lib/remembrancer
VOLUME ["/var/lib/remembrancer"]
ENV REMEMBRANCER_DATA=/var/lib/remembrancer \
    REMEMBRANCER_LISTEN=0.0.0.0:7171 \
    REMEMBRANCER_LOG_FORMAT=json
EXPOSE 7171
# The server drains on SIGTERM; give it more than limits.drain_seconds_max with `docker stop --time`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["remembrancer", "doctor", "--ready", "http://127.0.0.1:7171"]
ENTRYPOINT ["remembrancer"]
CMD ["serve"]
