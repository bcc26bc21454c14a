/**
 * Versions of collector builds such as `19.253-26`: major, minor, build (service.md 9.3). Libraries for semantic versions do not
 * support this form.
 */

export interface BuildVersion {
  readonly major: number;
  readonly minor: number;
  readonly build: number;
}

const form = /^(\d{1,9})\.(\d{1,9})-(\d{1,9})$/;

/** Parses the version of a collector build, or returns undefined if the text does not have the form `MAJOR.MINOR-BUILD`. */
export function parseBuildVersion(text: string): BuildVersion | undefined {
  const match = form.exec(text);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), build: Number(match[3]) };
}

/**
 * Compares two build versions. Returns a negative number if `left` is older, a positive number if it is newer, and 0 if
 * both are equal.
 */
export function compareBuildVersions(left: BuildVersion, right: BuildVersion): number {
  return left.major - right.major || left.minor - right.minor || left.build - right.build;
}
