/**
 * Versions of collector builds, as in `19.253-26`: major, minor, build (specification 9.3). They order as numbers, part by
 * part; semantic-version libraries do not read this form.
 */

export interface BuildVersion {
  readonly major: number;
  readonly minor: number;
  readonly build: number;
}

const form = /^(\d{1,9})\.(\d{1,9})-(\d{1,9})$/;

/** The parts of a version, or undefined where the text is not of the form `MAJOR.MINOR-BUILD`. */
export function parseBuildVersion(text: string): BuildVersion | undefined {
  const match = form.exec(text);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), build: Number(match[3]) };
}

/** Negative when `left` is older, positive when it is newer, 0 when they are the same. */
export function compareBuildVersions(left: BuildVersion, right: BuildVersion): number {
  return left.major - right.major || left.minor - right.minor || left.build - right.build;
}
