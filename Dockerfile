# The image of the operator: the bundle of logfleet on a base with Node, but without npm and shell. Runs without root rights,
# on a read-only file system.
# `make base-images` sets the digests of the base images to those of the newest images.
# The files are the same for all platforms, so the platform of the build makes them.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS package
WORKDIR /checkout
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --loglevel=error
COPY . .
# Modification time of all files in the image, in seconds. With the time of the commit, two builds give the same layer.
ARG SOURCE_DATE_EPOCH=0
RUN node scripts/package.ts layer && mkdir /layer && tar -xzf out/logfleet-*-image-layer.tar.gz -C /layer \
 && find /layer -exec touch --date="@$SOURCE_DATE_EPOCH" {} +

FROM gcr.io/distroless/nodejs24-debian13:nonroot@sha256:774b7d020b24214835769e24c3544835526cd0288f0b094eae48e8b2c2429a79
# One memory pool for all threads: with a pool for each thread, the C library never gives back 20 MB and more. A small space for new
# objects: Node's default of 16 MB costs as much memory. Below 4 MB, 5,000 resources take 15 % more CPU time, so the space starts
# with 4 MB (NODE_OPTIONS cannot set this).
LABEL org.opencontainers.image.title=logfleet org.opencontainers.image.licenses=Apache-2.0 \
 org.opencontainers.image.version=0.1.0
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 NODE_OPTIONS=--max-semi-space-size=4
COPY --from=package /layer /
WORKDIR /logfleet
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "--min-semi-space-size=4", "/logfleet/dist/main.js"]
CMD ["run"]
