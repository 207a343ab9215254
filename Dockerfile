# An image that holds nothing but treeline and the certificates that it needs to reach a server:
#
#   docker build -t treeline .
#   docker run --rm --user "$(id -u)" -v "$HOME:/home/user:ro" treeline ls --all
#   docker run --rm --user "$(id -u)" -p 7331:7331 -v "$HOME:/home/user:ro" -e TREELINE_TOKEN treeline serve --addr 0.0.0.0:7331
#
# The commit is read from .git, so build from a clone.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS=linux
ARG TARGETARCH=amd64
# The files as a system has them: the program, its manual pages and completions. /tmp is for files of one operation.
RUN go run ./internal/dist -root /out -for "$TARGETOS/$TARGETARCH" \
 && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ca-certificates.crt \
 && install -d -m 1777 /out/tmp \
 && install -d -m 0755 -o 65532 -g 65532 /out/home/user

FROM scratch
COPY --from=build /out /
ENV HOME=/home/user
WORKDIR /home/user
USER 65532:65532
EXPOSE 7331
ENTRYPOINT ["/usr/bin/treeline"]
