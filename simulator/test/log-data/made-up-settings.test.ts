import { expect, test } from 'vitest';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings, settingsProblems } from '../../log-data/made-up/made-up-settings.ts';

const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 1_000;
const good: MadeUpOptions = { fromMs, toMs, amount: { perSecond: 1_000 } };

test.each<[string, Partial<MadeUpOptions>]>([
  ['absent settings', {}],
  ['no messages', { amount: { messages: 0 } }],
  ['a million in a millisecond', { toMs: fromMs + 1, amount: { messages: 1_000_000 } }],
  [
    'a range that is one dense millisecond',
    { toMs: fromMs + 1, amount: { messages: 5 }, dense: [{ atMs: fromMs, count: 5 }] },
  ],
  [
    'the earliest and the latest times',
    { fromMs: 1_000_000_000_000, toMs: 9_999_900_000_000, amount: { messages: 1 } },
  ],
])('%s is valid', (_, options) => {
  expect(settingsProblems(madeUpSettings({ ...good, ...options }))).toEqual([]);
});

test.each<[string, Partial<MadeUpOptions>, string]>([
  ['a time before 2001', { fromMs: 5 }, 'fromMs'],
  ['a fraction of a millisecond', { fromMs: fromMs + 0.5 }, 'fromMs'],
  ['a time after 2286', { toMs: 10_000_000_000_001 }, 'toMs'],
  ['an empty range', { toMs: fromMs }, 'toMs'],
  ['messages that are received after more than a day', { receipt: { lateMs: 25 * 3_600_000 } }, 'receipt.lateMs'],
  ['a prompt delay above the late delay', { receipt: { promptMs: 5, lateMs: 4 } }, 'receipt.promptMs'],
  ['receipts beyond 2286', { toMs: 9_999_999_999_000, amount: { messages: 1 } }, 'receipt'],
  ['a fraction of late messages above 1', { receipt: { lateShare: 1.5 } }, 'receipt.lateShare'],
  ['messages that are too small', { size: { typicalBytes: 10 } }, 'size.typicalBytes'],
  ['messages larger than the service accepts', { size: { largestBytes: 2_000_000 } }, 'size.largestBytes'],
  ['large messages that are too small', { size: { largestBytes: 16_383 } }, 'size.largestBytes'],
  ['a negative fraction of large messages', { size: { largeShare: -0.1 } }, 'size.largeShare'],
  ['groups of no messages', { crowds: { count: 0 } }, 'crowds.count'],
  ['groups that are too large', { crowds: { count: 1_001 } }, 'crowds.count'],
  ['a fraction of grouped messages that is NaN', { crowds: { share: Number.NaN } }, 'crowds.share'],
  ['a fraction of odd messages above 1', { oddShare: 2 }, 'oddShare'],
  ['a negative fraction of lone surrogates', { loneSurrogateShare: -1 }, 'loneSurrogateShare'],
  ['no sources', { sources: 0 }, 'sources'],
  ['no templates', { variety: 0 }, 'variety'],
  ['a dense millisecond outside the range', { dense: [{ atMs: toMs, count: 1 }] }, 'dense'],
  ['a dense millisecond without messages', { dense: [{ atMs: fromMs, count: 0 }] }, 'dense'],
  [
    'a dense millisecond twice',
    {
      dense: [
        { atMs: fromMs, count: 1 },
        { atMs: fromMs, count: 2 },
      ],
    },
    'dense',
  ],
  [
    'fewer messages in total than in dense milliseconds',
    { amount: { messages: 4 }, dense: [{ atMs: fromMs, count: 5 }] },
    'amount',
  ],
  ['too many messages in a millisecond', { amount: { perSecond: 1_000_000_001 } }, 'amount'],
  ['too many messages in total', { toMs: fromMs + 1e11, amount: { messages: 1_000_000_000_001 } }, 'amount'],
  ['half a message', { amount: { messages: 1.5 } }, 'amount'],
  ['a negative rate', { amount: { perSecond: -1 } }, 'amount'],
  ['a rate that is NaN', { amount: { perSecond: Number.NaN } }, 'amount'],
])('%s is refused with a remedy', (_, options, member) => {
  const problems = settingsProblems(madeUpSettings({ ...good, ...options }));
  expect(problems.map((problem) => problem.member)).toEqual([member]);
  expect(problems[0]?.text).toMatch(/; (?:set|use|list) /);
});

test('generating with an invalid setting throws with its name', () => {
  const settings = madeUpSettings({ ...good, size: { typicalBytes: 400 } });
  expect(() => madeUpData(settings)).toThrow('size.typicalBytes is 400; set 600 to 65536 bytes');
});
