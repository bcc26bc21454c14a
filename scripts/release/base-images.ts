/** Reads and updates the base images in the Dockerfile, and asks their registries for the newest images. */

/** Base image of a stage in the Dockerfile. */
export interface BaseImage {
  /** Name of the image without its digest, such as `node:24-bookworm-slim`. */
  readonly name: string;
  /** Digest of the image, such as `sha256:…`. Undefined if the Dockerfile specifies only a tag. */
  readonly digest: string | undefined;
}

const fromLine = /^(FROM (?:--platform=\S+ )?)([^\s@]+)(?:@(sha256:[0-9a-f]{64}))?/gm;

export function baseImages(dockerfile: string): readonly BaseImage[] {
  return [...dockerfile.matchAll(fromLine)].map(([, , name = '', digest]) => ({ name, digest }));
}

/** Writes the given digests into the text of a Dockerfile. The keys of `digests` are the names of the base images. */
export function withDigests(dockerfile: string, digests: ReadonlyMap<string, string>): string {
  return dockerfile.replace(fromLine, (line, from: string, name: string) => {
    const digest = digests.get(name);
    return digest === undefined ? line : `${from}${name}@${digest}`;
  });
}

const indexTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

/** Asks the registry for the current digest of an image's tag, for all platforms. */
export async function newestDigest(name: string, protocol = 'https'): Promise<string> {
  const { registry, repository, tag } = imageAddress(name);
  const url = `${protocol}://${registry}/v2/${repository}/manifests/${tag}`;
  const headers = { accept: indexTypes.join(', ') };
  const first = await fetch(url, { method: 'HEAD', headers });
  const response =
    first.status === 401
      ? await fetch(url, { method: 'HEAD', headers: { ...headers, ...(await token(first)) } })
      : first;
  const digest = response.headers.get('docker-content-digest');
  if (!response.ok || digest === null)
    throw new Error(`${url} responded with status ${response.status}, and without an image digest.`);
  return digest;
}

/** Gets an anonymous access token from the token server named in the registry's 401 response. */
async function token(refusal: Response): Promise<{ readonly authorization: string }> {
  const parameters = new Map(
    [...(refusal.headers.get('www-authenticate') ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(
      ([, key = '', value = '']) => [key, value],
    ),
  );
  const url = new URL(parameters.get('realm') ?? '');
  for (const key of ['service', 'scope']) url.searchParams.set(key, parameters.get(key) ?? '');
  const response = (await (await fetch(url)).json()) as { readonly token: string };
  return { authorization: `Bearer ${response.token}` };
}

/**
 * Splits the name of an image into registry, repository and tag. Without a registry, the image is on Docker Hub, where
 * a repository without a folder is in the folder `library`.
 */
function imageAddress(name: string): { readonly registry: string; readonly repository: string; readonly tag: string } {
  const [, first = '', rest] = /^([^/]+)(?:\/(.+))?$/.exec(name) ?? [];
  const hasRegistry = rest !== undefined && /[.:]/.test(first);
  const registry = hasRegistry ? first : 'registry-1.docker.io';
  const [repository = '', tag = 'latest'] = (hasRegistry ? rest : name).split(':');
  return { registry, repository: hasRegistry || repository.includes('/') ? repository : `library/${repository}`, tag };
}
