/** Settings for generated messages. Durations are in ms. Shares, such as `oddShare`, are fractions from 0 to 1. */
import { dayMs } from '../../../src/base/time-units.ts';
import type { FieldCase } from '../field-case.ts';

export interface MadeUpSettings {
  readonly seed: number;
  /** Message time range [fromMs, toMs), in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly amount: Amount;
  /**
   * Milliseconds with a fixed number of messages. Each item has a millisecond and the number of messages to generate in
   * it.
   */
  readonly dense: readonly DensePoint[];
  /**
   * Groups of messages that have the same time. Each group consists of `count` messages. `share` is the fraction of all
   * messages that are in such groups.
   */
  readonly crowds: Crowds;
  readonly receipt: ReceiptSettings;
  readonly size: SizeSettings;
  /** Fraction of messages with escapes, quotes, control characters and multi-byte characters. */
  readonly oddShare: number;
  /** Fraction of messages that contain half of a surrogate pair, which UTF-8 cannot encode. */
  readonly loneSurrogateShare: number;
  /** Number of message sources. Each source has a collector, a host and a category. */
  readonly sources: number;
  /** Number of message templates. Messages with the same template differ only in their ids and times. */
  readonly variety: number;
  readonly fieldCase: FieldCase;
}

/**
 * Number of messages, per second or in total. The total includes the messages in the milliseconds listed in `dense`.
 */
export type Amount = { readonly perSecond: number } | { readonly messages: number };

export interface DensePoint {
  readonly atMs: number;
  readonly count: number;
}

export interface Crowds {
  readonly share: number;
  readonly count: number;
}

export interface ReceiptSettings {
  /** Maximum delay of a message that is not late, in ms. */
  readonly promptMs: number;
  /** Fraction of messages that arrive late. Their delay is at most `lateMs`. */
  readonly lateShare: number;
  readonly lateMs: number;
}

/** Sizes of generated messages as JSON, in bytes. */
export interface SizeSettings {
  /** Mean size in bytes of the messages that are not large. */
  readonly typicalBytes: number;
  readonly largeShare: number;
  readonly largestBytes: number;
}

/** Settings for generated messages. Only the time range and the number of messages are required. */
export type MadeUpOptions = Pick<MadeUpSettings, 'fromMs' | 'toMs' | 'amount'> &
  Partial<Pick<MadeUpSettings, 'seed' | 'dense' | 'oddShare' | 'loneSurrogateShare' | 'sources' | 'variety'>> & {
    readonly crowds?: Partial<Crowds>;
    readonly receipt?: Partial<ReceiptSettings>;
    readonly size?: Partial<SizeSettings>;
    readonly fieldCase?: FieldCase;
  };

export function madeUpSettings(options: MadeUpOptions): MadeUpSettings {
  return {
    seed: options.seed ?? 1,
    fromMs: options.fromMs,
    toMs: options.toMs,
    amount: options.amount,
    dense: options.dense ?? [],
    crowds: { share: 0, count: 20, ...options.crowds },
    receipt: { promptMs: 2_000, lateShare: 0.01, lateMs: 10 * 60_000, ...options.receipt },
    size: { typicalBytes: 900, largeShare: 0, largestBytes: 256 * 1024, ...options.size },
    oddShare: options.oddShare ?? 0.05,
    loneSurrogateShare: options.loneSurrogateShare ?? 0,
    sources: options.sources ?? 40,
    variety: options.variety ?? 500,
    fieldCase: options.fieldCase ?? 'specified',
  };
}

/** Earliest and latest permitted message times, in ms since the epoch. All times between them have thirteen digits. */
const earliestMs = 1_000_000_000_000;
const latestMs = 10_000_000_000_000;
/** Maximum number of messages per millisecond. */
const maxPerMs = 1_000_000;
/** Maximum number of generated messages. With more messages, the ids would have too many digits. */
const maxMessages = 1_000_000_000_000;
const smallestTypicalBytes = 600;
const largestTypicalBytes = 65_536;
export const smallestLargeBytes = 16 * 1024;
const maxDensePoints = 10_000;

export type SettingsMember =
  | keyof MadeUpSettings
  | `crowds.${keyof Crowds}`
  | `receipt.${keyof ReceiptSettings}`
  | `size.${keyof SizeSettings}`;

export interface SettingsProblem {
  readonly member: SettingsMember;
  readonly text: string;
}

/** Returns all problems with the settings. */
export function settingsProblems(settings: MadeUpSettings): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  const check = (member: SettingsMember, holds: boolean, text: string) => {
    if (!holds) problems.push({ member, text });
  };
  const { fromMs, toMs, receipt, size, crowds, dense } = settings;
  check('fromMs', isWhole(fromMs, earliestMs, latestMs), 'is out of range; set a time from 2001-09-10 to 2286-11-19');
  check('toMs', isWhole(toMs, earliestMs, latestMs), 'is out of range; set a time from 2001-09-10 to 2286-11-19');
  check('toMs', toMs > fromMs, 'is not later than the start of the range; set a later time');
  if (problems.length > 0) return problems;
  check('receipt.lateMs', isWhole(receipt.lateMs, 0, dayMs), 'is too long; set at most 24h');
  check(
    'receipt.promptMs',
    isWhole(receipt.promptMs, 0, receipt.lateMs),
    'is longer than lateFor; set a shorter duration',
  );
  check('receipt.lateShare', isShare(receipt.lateShare), 'is not valid; use a number from 0 to 1');
  check('receipt', toMs + receipt.lateMs < latestMs, 'extends beyond 2286-11-20; set an earlier end');
  const checkWhole = (member: SettingsMember, value: number, min: number, max: number, unit = '') =>
    check(member, isWhole(value, min, max), `is ${value}; set ${min} to ${max}${unit}`);
  checkWhole('size.typicalBytes', size.typicalBytes, smallestTypicalBytes, largestTypicalBytes, ' bytes');
  checkWhole('size.largestBytes', size.largestBytes, smallestLargeBytes, 1_048_576, ' bytes');
  check('size.largeShare', isShare(size.largeShare), 'is not valid; use a number from 0 to 1');
  check('crowds.share', isShare(crowds.share), 'is not valid; use a number from 0 to 1');
  checkWhole('crowds.count', crowds.count, 1, 1_000, ', or use dense for larger groups');
  check('oddShare', isShare(settings.oddShare), 'is not valid; use a number from 0 to 1');
  check('loneSurrogateShare', isShare(settings.loneSurrogateShare), 'is not valid; use a number from 0 to 1');
  checkWhole('sources', settings.sources, 1, 10_000);
  checkWhole('variety', settings.variety, 1, 20_000);
  check('dense', dense.length <= maxDensePoints, `has too many milliseconds; list at most ${maxDensePoints}`);
  for (const { atMs, count } of dense) {
    check(
      'dense',
      isWhole(atMs, fromMs, toMs - 1),
      `has the time ${atMs}, which is outside the range; set a time within the range`,
    );
    check('dense', isWhole(count, 1, 1_000_000_000), `has ${count} messages; set 1 to 1000000000`);
  }
  const times = new Set(dense.map(({ atMs }) => atMs));
  check('dense', times.size === dense.length, 'lists a millisecond twice; list each millisecond once');
  const denseMessages = dense.reduce((sum, { count }) => sum + count, 0);
  const amount = 'perSecond' in settings.amount ? settings.amount.perSecond : settings.amount.messages;
  check('amount', amount >= 0, 'is not a number of messages; set 0 or more');
  check(
    'amount',
    'perSecond' in settings.amount || Number.isInteger(amount),
    'is not a whole number; set a whole number of messages',
  );
  if (problems.some(({ member }) => member === 'amount')) return problems;
  const others = otherMessages(settings);
  const freeMs = toMs - fromMs - times.size;
  check('amount', others >= 0, `is less than the ${denseMessages} messages in dense; set more`);
  check('amount', others + denseMessages <= maxMessages, `is too large; set at most ${maxMessages} messages`);
  check('amount', others <= freeMs * maxPerMs, 'is too large for the range; set fewer messages, or a longer range');
  return problems;
}

/** Returns the number of messages outside the milliseconds listed in `dense`. */
export function otherMessages({ amount, dense, fromMs, toMs }: MadeUpSettings): number {
  if ('perSecond' in amount) return Math.round((amount.perSecond * (toMs - fromMs - dense.length)) / 1000);
  return amount.messages - dense.reduce((sum, { count }) => sum + count, 0);
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

function isShare(value: number): boolean {
  return value >= 0 && value <= 1;
}
