/** Waits for changes to a resource. All tests in a run share one watch. */
import { type Agent, request } from 'undici';
import { controlPlane } from './control-plane.ts';
import { patientAgent } from './patient-agent.ts';

let agent: Agent | undefined;

/** Resolves to the resource as soon as `done` returns true for it. */
export async function watchUntil<T>(collection: string, name: string, done: (resource: T) => boolean): Promise<T> {
  const { server, caFile, adminToken } = controlPlane();
  agent ??= patientAgent(caFile, { bodyTimeout: 0 });
  for (;;) {
    const { statusCode, body } = await request(`${server}${collection}`, {
      query: { watch: 'true', fieldSelector: `metadata.name=${name}` },
      dispatcher: agent,
      headers: { authorization: `Bearer ${adminToken}` },
    });
    if (statusCode !== 200) throw new Error(`the API server returned ${statusCode}: ${await body.text()}`);
    let rest = '';
    for await (const text of body.setEncoding('utf8')) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: T };
        if ((type === 'ADDED' || type === 'MODIFIED') && done(object)) return object;
      }
    }
  }
}
