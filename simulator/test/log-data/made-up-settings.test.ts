import { expect, test } from 'vitest';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings, settingsProblems } from '../../log-data/made-up/made-up-settings.ts';

const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 1_000;
const good: MadeUpOptions = { fromMs, toMs, amount: { perSecond: 1_000 } };

test.each<[string, Partial<MadeUpOptions>]>([
  ['what is left out', {}],
  ['no messages at all', { amount: { messages: 0 } }],
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
  ['messages that come later than a day', { receipt: { lateMs: 25 * 3_600_000 } }, 'receipt.lateMs'],
  ['prompt ones later than late ones', { receipt: { promptMs: 5, lateMs: 4 } }, 'receipt.promptMs'],
  ['receipts beyond 2286', { toMs: 9_999_999_999_000, amount: { messages: 1 } }, 'receipt'],
  ['more late ones than all', { receipt: { lateShare: 1.5 } }, 'receipt.lateShare'],
  ['rows of no size', { size: { typicalBytes: 10 } }, 'size.typicalBytes'],
  ['rows larger than the service takes', { size: { largestBytes: 2_000_000 } }, 'size.largestBytes'],
  ['large rows that are none', { size: { largestBytes: 16_383 } }, 'size.largestBytes'],
  ['a negative share of large ones', { size: { largeShare: -0.1 } }, 'size.largeShare'],
  ['empty crowds', { crowds: { count: 0 } }, 'crowds.count'],
  ['crowds too large', { crowds: { count: 1_001 } }, 'crowds.count'],
  ['no share of crowds', { crowds: { share: Number.NaN } }, 'crowds.share'],
  ['no share of odd ones', { oddShare: 2 }, 'oddShare'],
  ['no share of surrogates', { loneSurrogateShare: -1 }, 'loneSurrogateShare'],
  ['no sources', { sources: 0 }, 'sources'],
  ['no variety', { variety: 0 }, 'variety'],
  ['a dense millisecond outside', { dense: [{ atMs: toMs, count: 1 }] }, 'dense'],
  ['a dense millisecond of nothing', { dense: [{ atMs: fromMs, count: 0 }] }, 'dense'],
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
  ['fewer in all than in dense ones', { amount: { messages: 4 }, dense: [{ atMs: fromMs, count: 5 }] }, 'amount'],
  ['more in a millisecond than there may be', { amount: { perSecond: 1_000_000_001 } }, 'amount'],
  ['more than there may be in all', { toMs: fromMs + 1e11, amount: { messages: 1_000_000_000_001 } }, 'amount'],
  ['half a message', { amount: { messages: 1.5 } }, 'amount'],
  ['a negative rate', { amount: { perSecond: -1 } }, 'amount'],
  ['a rate that is no number', { amount: { perSecond: Number.NaN } }, 'amount'],
])('%s is refused with a remedy', (_, options, member) => {
  const problems = settingsProblems(madeUpSettings({ ...good, ...options }));
  expect(problems.map((problem) => problem.member)).toEqual([member]);
  expect(problems[0]?.text).toMatch(/; write /);
});

test('generating with an invalid setting throws with its name', () => {
  const settings = madeUpSettings({ ...good, size: { typicalBytes: 400 } });
  expect(() => madeUpData(settings)).toThrow('size.typicalBytes is 400; write 600 to 65536 bytes');
});
