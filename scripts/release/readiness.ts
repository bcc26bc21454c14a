/** Checks whether a checkout can be released as a version. */
import { baseImages } from './base-images.ts';

/** State of a checkout before a release. */
export interface Checkout {
  /** Version in package.json. */
  readonly packageVersion: string;
  /** Output of `git status --porcelain`. */
  readonly changes: string;
  readonly changelog: string;
  readonly dockerfile: string;
}

/** Returns what a person must correct before the release, or an empty list. */
export function releaseProblems(
  version: string,
  { packageVersion, changes, changelog, dockerfile }: Checkout,
): readonly string[] {
  const unpinned = baseImages(dockerfile).filter(({ digest }) => digest === undefined);
  return [
    ...(version === packageVersion
      ? []
      : [
          `package.json has the version ${packageVersion}: run "npm version ${version} --no-git-tag-version", and commit`,
        ]),
    ...(changes === ''
      ? []
      : [`the checkout has changes that are not committed: commit or remove them\n${changes.trimEnd()}`]),
    ...(changelog.split('\n').some((line) => line.startsWith(`## [${version}] - `))
      ? []
      : [`CHANGELOG.md has no section of the version: rename its section "Unreleased" to "${version} - YYYY-MM-DD"`]),
    ...unpinned.map(({ name }) => `the Dockerfile names ${name} without a digest: run "make base-images"`),
  ];
}
