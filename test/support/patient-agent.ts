/** HTTPS client for servers of tests, which can be slow on a busy machine. */
import { readFileSync } from 'node:fs';
import { Agent } from 'undici';

/**
 * Returns an undici agent without a time limit for connections.
 * @param caFile path of the server's CA certificate
 */
export function patientAgent(caFile: string, options: Agent.Options = {}): Agent {
  return new Agent({ ...options, connect: { ca: readFileSync(caFile), timeout: 0 } });
}
