/**
 * Finds logfleet's version in files. Developers change the version only in package.json, and `make generate` copies it
 * to the other files.
 */

/** Pattern of a version: `1.2.3`, or a pre-release such as `1.2.3-rc.1`. */
const version = String.raw`\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`;
const wholeVersion = new RegExp(`^${version}$`);
/** Matches a copy of logfleet's version together with the preceding text, such as `logfleet:1.2.3`. */
const copies = new RegExp(
  String.raw`(\blogfleet[-: ]|\bnewTag: |^(?:version|appVersion): |app\.kubernetes\.io/version: |image\.version=|^operator )${version}`,
  'gm',
);

/** Files with copies of the version. */
export const versionedFiles = [
  'Dockerfile',
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

/** Returns a file's content with each copy of logfleet's version replaced with `version`. */
export function withVersion(content: string, version: string): string {
  return content.replace(copies, `$1${version}`);
}

/** Reports whether a file contains a copy of the version. */
export function hasVersion(content: string): boolean {
  return content.search(copies) >= 0;
}
