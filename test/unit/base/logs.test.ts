import { describe, expect, test } from 'vitest';
import { LogfleetError } from '../../../src/base/errors.ts';
import { createJsonLogger } from '../../../src/base/json-log.ts';
import type { Logger, LogLevel } from '../../../src/base/log.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { createTextLogger } from '../../../src/base/text-log.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function collect(create: (output: { write(line: string): void }) => Logger): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: create({ write: (line) => void lines.push(line) }), lines };
}

const json = (level: LogLevel = 'info') => collect((output) => createJsonLogger({ level, output }));
const text = (level: LogLevel = 'info', colors = false) =>
  collect((output) =>
    createTextLogger({ level, colors, output, clock: new VirtualClock(Date.UTC(2026, 10, 1, 14, 3, 7)) }),
  );

const circular: { self?: unknown } = {};
circular.self = circular;

describe.each([
  ['JSON', json],
  ['text', text],
])('a %s log', (_, create) => {
  test('omits lines below its level', () => {
    const { log, lines } = create('warn');
    log.debug('one');
    log.info('two');
    log.warn('three');
    log.error('four');
    expect(lines.map((line) => /three|four/.exec(line)?.[0])).toEqual(['three', 'four']);
  });

  test('never shows a secret', () => {
    const { log, lines } = create();
    const secret = new SecretText('canary-4711');
    log.with({ secret }).info('message', { secret, nested: { list: [secret] } });
    expect(lines.join('')).toContain('[secret]');
    expect(lines.join('')).not.toContain('canary-4711');
  });

  test.each<[string, unknown]>([
    ['a circle', circular],
    ['a big number', 2n ** 70n],
    ['a symbol', Symbol('s')],
    ['a function', () => 1],
    ['nothing', undefined],
    ['null', null],
    ['thrown text as error', 'text'],
  ])('a field with %s does not throw', (_name, error) => {
    const { log, lines } = create();
    log.info('message', { error });
    expect(lines.length).toBe(1);
  });

  test('each call writes one line', () => {
    const { log, lines } = create();
    log.info('two\nlines', { name: 'a\nb', 'na\nme': 1 });
    expect(lines.length).toBe(1);
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
  });
});

describe('a JSON log', () => {
  test('renders level, time, message and the fields of the logger and the line', () => {
    const { log, lines } = json();
    log.with({ controller: 'policy' }).warn('message', { count: 3 });
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      controller: 'policy',
      message: 'message',
      count: 3,
    });
  });

  test('renders expected errors with code and causes, and without a stack', () => {
    const { log, lines } = json();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    log.error('failed', {
      error: new LogfleetError({ code: 'test.failure', message: 'no response', handling: { kind: 'backoff' }, cause }),
    });
    expect(JSON.parse(lines[0] ?? '').error).toEqual({
      name: 'LogfleetError',
      code: 'test.failure',
      message: 'no response',
      cause: { name: 'Error', code: 'ECONNREFUSED', message: 'refused' },
    });
  });

  test.each([
    ['of somebody else', new TypeError('no such method', { cause: new Error('deeper') })],
    [
      'that is a bug',
      new LogfleetError({
        code: 'bug.test',
        message: 'never',
        handling: { kind: 'bug' },
        cause: new Error('deeper'),
      }),
    ],
  ])('renders an error %s with its stack and those of its causes', (_, error) => {
    const { log, lines } = json();
    log.error('failed', { error });
    const stack = expect.stringContaining('logs.test.ts');
    expect(JSON.parse(lines[0] ?? '').error).toMatchObject({ stack, cause: { message: 'deeper', stack } });
  });

  test('limits the number of causes', () => {
    const { log, lines } = json();
    const error = new Error('round and round');
    error.cause = error;
    log.error('failed', { error });
    expect(lines[0]?.split('round and round"').length).toBeLessThan(10);
  });
});

describe('a text log', () => {
  test('renders time, level, message and fields', () => {
    const { log, lines } = text();
    log.with({ policy: 'logging/production' }).info('collector accepted', { name: 'web 1', count: 3, gone: undefined });
    expect(lines).toEqual([
      '2026-11-01T14:03:07Z info  collector accepted  policy=logging/production name="web 1" count=3\n',
    ]);
  });

  test('colours the level if colours are enabled', () => {
    const { log, lines } = text('info', true);
    log.error('failed');
    expect(lines).toEqual(['2026-11-01T14:03:07Z \u001b[31merror\u001b[39m failed\n']);
  });

  test('contains no control characters of messages and fields', () => {
    const { log, lines } = text();
    log.info('\u001b[2J', { name: '\u009b31mred', list: ['\u001b]0;title\u0007'], 'k\u001b': 1 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this expression looks for control characters.
    expect(lines.join('').slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test('shows the code of an expected error and the stack of an unexpected error', () => {
    const { log, lines } = text();
    log.warn('failed', {
      error: new LogfleetError({ code: 'test.failure', message: 'no response', handling: { kind: 'backoff' } }),
    });
    log.error('failed', { error: new TypeError('no such method', { cause: new Error('deeper') }) });
    expect(lines[0]).toBe('2026-11-01T14:03:07Z warn  failed  error="no response (test.failure)"\n');
    expect(lines[1]).toMatch(/error="no such method"\n {4}at .*logs\.test\.ts/);
    expect(lines[1]).toContain('caused by deeper');
  });
});
