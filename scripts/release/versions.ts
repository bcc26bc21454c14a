/**
 * Copies of logfleet's version. A person sets the version only in package.json. `make generate` copies it to the Helm chart, the manifests,
 * the Dockerfile and the examples of the documentation, and `make release` checks the copies.
 */

/** Form of a version: `1.2.3`, or `1.2.3-rc.1` before a release. It is a valid tag of an image and a valid value of a label. */
const version = String.raw`\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`;
const wholeVersion = new RegExp(`^${version}$`);
/** A version after the text that marks it as a version of logfleet, such as `logfleet:` in the name of an image. */
const copies = new RegExp(
  String.raw`(\blogfleet[-: ]|\bnewTag: |^(?:version|appVersion): |app\.kubernetes\.io/version: |image\.version=|^operator )${version}`,
  'gm',
);

/** Files with copies of the version. */
export const versionedFiles = [
  'Dockerfile',
  'README.md',
  'charts/logfleet/Chart.yaml',
  'docs/cli.md',
  'docs/install.md',
  'docs/jobs.md',
  'manifests/base/deployment.yaml',
  'manifests/export-jobs/kustomization.yaml',
  'manifests/export-jobs-namespaced/kustomization.yaml',
  'manifests/export-volume/kustomization.yaml',
];

export function isVersion(text: string): boolean {
  return wholeVersion.test(text);
}

/** Returns the content of a file with the given version in each copy. */
export function withVersion(content: string, version: string): string {
  return content.replace(copies, `$1${version}`);
}

/** Returns true if a file has a copy of the version. */
export function hasVersion(content: string): boolean {
  return content.search(copies) >= 0;
}
