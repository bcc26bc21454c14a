/**
 * Versions of collector builds, such as `19.253-26` (section 9.3 of docs/service.md). They are not semantic versions.
 */

export interface BuildVersion {
  readonly major: number;
  readonly minor: number;
  readonly build: number;
}

const form = /^(\d{1,9})\.(\d{1,9})-(\d{1,9})$/;

/** Parses a version `MAJOR.MINOR-BUILD`, or returns undefined. */
export function parseBuildVersion(text: string): BuildVersion | undefined {
  const match = form.exec(text);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), build: Number(match[3]) };
}

/**
 * Compares two build versions. Returns a negative number if `left` is older, and a positive number if `left` is newer.
 */
export function compareBuildVersions(left: BuildVersion, right: BuildVersion): number {
  return left.major - right.major || left.minor - right.minor || left.build - right.build;
}
