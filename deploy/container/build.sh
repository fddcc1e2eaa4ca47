#!/usr/bin/env bash
# Builds the image of a released binary into an archive of OCI, which podman load and skopeo read:
#   deploy/container/build.sh OS ARCH BINARY ARCHIVE
# It needs buildah (Debian: apt-get install buildah), no daemon and no registry. The same binary and
# SOURCE_DATE_EPOCH give the same image. GoReleaser calls it for every binary that it builds.
set -euo pipefail
os=$1 arch=$2 binary=$3 archive=$4
[[ $os == linux ]] || exit 0

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What the Containerfile copies, with this binary in the place of the one that make build makes.
mkdir -p "$work/context/bin" "$work/context/deploy/container"
cp "$binary" "$work/context/bin/andon"
cp "$root"/{LICENSE,NOTICE,THIRD_PARTY_LICENSES} "$work/context/"
cp -r "$root/deploy/container/data" "$work/context/deploy/container/"

export STORAGE_DRIVER=vfs
buildah() { command buildah --root "$work/root" --runroot "$work/run" "$@"; }
buildah build --quiet --isolation chroot --platform "$os/$arch" --timestamp "$SOURCE_DATE_EPOCH" \
    --identity-label=false --label "org.opencontainers.image.version=$VERSION" \
    --label org.opencontainers.image.source=https://github.com/andonhq/andon \
    --label org.opencontainers.image.licenses=Apache-2.0 \
    --tag andon --file "$root/deploy/container/Containerfile" "$work/context" > /dev/null
buildah push --quiet andon "oci:$work/image:$VERSION"
tar --create --file "$archive" --directory "$work/image" --sort=name --format=ustar \
    --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX .
