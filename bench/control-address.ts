/** Client for the simulator's control address. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import type { SimulatorAddress } from '../simulator/simulate.ts';
import type { SimulatorState } from '../simulator/snapshot.ts';

/** Returns the simulator's state. If `patch` is given, first applies this patch to the simulator's scenario. */
export async function simulatorState(ready: SimulatorAddress, patch?: Scenario): Promise<SimulatorState> {
  const dispatcher = new Agent({ connect: { ca: readFileSync(ready.caFile) }, bodyTimeout: 0, headersTimeout: 0 });
  const authorization = `Basic ${Buffer.from(`${ready.accessId}:${ready.accessKey}`).toString('base64')}`;
  const address = `${ready.controlURL}/state`;
  try {
    if (patch) {
      const response = await request(address, {
        method: 'PATCH',
        dispatcher,
        headers: { authorization },
        body: JSON.stringify(patch),
      });
      if (response.statusCode !== 200)
        throw new Error(`the simulator refused the patch to the scenario: ${await response.body.text()}`);
      await response.body.dump();
    }
    const response = await request(address, { dispatcher, headers: { authorization } });
    return (await response.body.json()) as SimulatorState;
  } finally {
    await dispatcher.close();
  }
}
