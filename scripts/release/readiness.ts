/** Checks whether a checkout can be released. */
import { baseImages } from './base-images.ts';
import { isVersion, withVersion } from './versions.ts';

/** State of a checkout before a release. */
export interface Checkout {
  /** Version in package.json. */
  readonly packageVersion: string;
  /** Version in package-lock.json. */
  readonly lockVersion: string;
  /** Contents of the files that contain a copy of logfleet's version, by path. */
  readonly versioned: ReadonlyMap<string, string>;
  /** Current commit. */
  readonly commit: string;
  /** Commit of the version's tag, if the tag exists. */
  readonly taggedCommit: string | undefined;
  /** Folders in `test/recorded/`, such as `release-1.2`. They contain states that earlier releases stored. */
  readonly recordedStates: readonly string[];
  /** Output of `git status --porcelain`. */
  readonly changes: string;
  readonly changelog: string;
  readonly dockerfile: string;
}

/** Returns an error message if the arguments of `make release` are invalid, otherwise undefined. */
export function argumentProblem(version: string, url: string): string | undefined {
  if (!isVersion(version)) return 'VERSION must have the form 1.2.3, or 1.2.3-rc.1 for a pre-release';
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
    return 'URL must begin with https://, because krew requires HTTPS';
  const { username, password, search, hash } = new URL(url);
  // The URL is published with the release, so it must not contain credentials.
  if (username || password || search || hash) return 'URL must not contain a user, password, query or fragment';
  return undefined;
}

/** Returns a message for each problem that must be corrected before the release. */
export function releaseProblems(version: string, checkout: Checkout): readonly string[] {
  const { packageVersion, lockVersion, versioned, commit, taggedCommit, recordedStates } = checkout;
  const { changes, changelog, dockerfile } = checkout;
  const unpinned = baseImages(dockerfile).filter(({ digest }) => digest === undefined);
  const stale = [...versioned].filter(([, content]) => withVersion(content, version) !== content);
  const minor = version.replace(/\.\d+(?:-.*)?$/, '');
  return [
    ...(version === packageVersion && version === lockVersion
      ? []
      : [
          `package.json has version ${packageVersion}, and package-lock.json has version ${lockVersion}: run "npm version ${version} --no-git-tag-version", and commit`,
        ]),
    ...stale.map(([file]) => `${file} contains another version: run "make generate", and commit`),
    ...(taggedCommit === undefined || taggedCommit === commit
      ? []
      : [`the tag v${version} is at another commit (${taggedCommit}): check out the tag, or choose another version`]),
    ...(recordedStates.includes(`release-${minor}`)
      ? []
      : [
          `test/recorded has no state of version ${minor}: run "npx node test/recorded/record.ts ${minor}", and commit`,
        ]),
    ...(changes === '' ? [] : [`the checkout has uncommitted changes: commit or remove them\n${changes.trimEnd()}`]),
    ...(changelog.split('\n').some((line) => line.startsWith(`## [${version}] - `))
      ? []
      : [`CHANGELOG.md has no section for this version: rename its section "Unreleased" to "${version} - YYYY-MM-DD"`]),
    ...unpinned.map(({ name }) => `the Dockerfile names ${name} without a digest: run "make base-images"`),
  ];
}
