/** What hosts say that share their work with nobody: they lead always, and nothing pauses all of it. */
import type { Leadership, OperatorSettings } from '../host/host.ts';

export const alwaysLeading: Leadership = {
  isLeader: () => true,
  term: () => 1,
  tookOverByForce: () => false,
  subscribe: () => () => {},
};

export const notPaused: OperatorSettings = { paused: false, pausedBy: undefined };
