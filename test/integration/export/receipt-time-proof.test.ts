/** Tests how an export by receipt time proves that no row is missing (E6). */
import { expect, test } from 'vitest';
import { type InProcessRequest, type InProcessResponse, InProcessService } from '../../../simulator/in-process.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { ExportWorld, startMs } from './export-world.ts';

const fromMs = startMs - 2 * hourMs;

/** Simulated service that omits the first millisecond of each range searched. */
class ExclusiveStart extends InProcessService {
  override request(request: InProcessRequest): Promise<InProcessResponse> {
    if (request.method !== 'POST' || !request.body?.includes('"query"')) return super.request(request);
    const order = JSON.parse(request.body) as { readonly from: string };
    return super.request({ ...request, body: JSON.stringify({ ...order, from: String(Number(order.from) + 1) }) });
  }
}

test.each([false, true])(
  'rows that the service omits at the start of each range are reported as missing: %s',
  async (byReceiptTime) => {
    const messages = Array.from({ length: 3_599 }, (_, index) => {
      const at = fromMs + (index + 1) * 1_000;
      return { at, received: at, raw: `m ${index}`, fields: { _messageid: String(index + 1) } };
    });
    const world = new ExportWorld({
      messages,
      scenario: { search: { duration: '2s', messageLimit: 400 } },
      service: (...options) => new ExclusiveStart(...options),
    });
    world.add({ byReceiptTime });
    world.start();
    await world.world.until(() => ['Exported', 'IntervalIncomplete'].includes(world.reason ?? ''), hourMs);
    expect(world.reason).toBe('IntervalIncomplete');
  },
);

test('a message that is dated before 1970 is proven by its receipt time', async () => {
  const messages = Array.from({ length: 100 }, (_, index) => {
    const received = fromMs + index * 1_000;
    const fields = { _messageid: String(index + 1) };
    return { at: index === 5 ? -123_456 : received, received, raw: `m ${index}`, fields };
  }).sort((left, right) => left.at - right.at);
  const world = new ExportWorld({ messages, scenario: { search: { duration: '1s' } } });
  world.add({ byReceiptTime: true });
  world.start();
  await world.world.until(() => world.reason === 'Exported', 10 * minuteMs);
  expect(world.rows()).toHaveLength(100);
});
