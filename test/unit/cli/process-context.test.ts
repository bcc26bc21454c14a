import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { processContext } from '../../../src/cli/process-context.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

test('a second signal ends the process, and shows the cursor that a live view has hidden', () => {
  const { isTTY } = process.stderr;
  process.stderr.isTTY = true;
  const before = signals.map((signal) => process.listeners(signal));
  onTestFinished(() => {
    process.stderr.isTTY = isTTY;
    for (const [index, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!before[index]?.includes(listener)) process.off(signal, listener);
      }
    }
    vi.restoreAllMocks();
  });
  const nowMs = vi.spyOn(systemClock, 'monotonic').mockReturnValue(0);
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as () => never);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const { signal } = processContext();
  const interrupt = process.listeners('SIGINT').find((listener) => !before[0]?.includes(listener));
  interrupt?.('SIGINT');
  expect([signal.aborted, exit.mock.calls]).toEqual([true, []]);
  nowMs.mockReturnValue(1_000);
  interrupt?.('SIGINT');
  expect(write).toHaveBeenCalledWith('\u001b[?25h');
  expect(exit).toHaveBeenCalledWith(130);
});
