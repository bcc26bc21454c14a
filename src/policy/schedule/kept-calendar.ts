/** Caches the maintenance calendar of a policy, and builds it again when the text of its maintenance windows changes. */
import type { CollectorVersionPolicySpec, Maintenance } from '../../api/generated/collector-version-policy.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { MaintenanceCalendar } from './maintenance-calendar.ts';

/** Calendar shared by all policies without maintenance windows. */
const always = new MaintenanceCalendar(undefined);

export class KeptCalendar {
  #calendar = always;
  #of: Maintenance | undefined;

  current({ maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>): MaintenanceCalendar {
    if (maintenance !== this.#of && !sameValue(maintenance, this.#of)) {
      this.#calendar = new MaintenanceCalendar(maintenance);
    }
    this.#of = maintenance;
    return this.#calendar;
  }
}
