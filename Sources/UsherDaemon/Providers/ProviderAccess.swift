import UsherAPI
import UsherCore
import UsherStore

/// Access to providers: their credentials and health, and the requests to them.
struct ProviderAccess: Sendable {
  let health: ProviderHealth
  let credentials: Credentials
  let http: ProviderHTTP
  let metadata: MetadataCache
  let verifier: IDTokenVerifier

  init(_ processContext: ProcessContext, _ store: Store) throws(UsherError) {
    let (setting, events) = (processContext.setting, processContext.events)
    let dependencies = processContext.dependencies
    health = ProviderHealth(dependencies.configStore) {
      [clock = dependencies.clock] provider, health in
      events.publish(
        Event(topic: .provider, what: health.rawValue, at: clock.now(), provider: provider),
        owner: nil)
    }
    credentials = try Credentials(
      store: store, passed: setting.credentials, on: setting.disk, dependencies: dependencies)
    http = ProviderHTTP(
      through: setting.transport(processContext.outside), credentials: credentials, health: health,
      dependencies: dependencies)
    metadata = MetadataCache(http: http, dependencies: dependencies)
    verifier = IDTokenVerifier(
      http: http, credentials: credentials, dependencies: dependencies)
  }
}
