import NIOCore
import UsherConfig
import UsherCore

import func Glibc.strerror

extension Services {
  /// The resources that a new configuration needs, acquired before anything changes.
  struct Preparation {
    fileprivate let credentials: SystemdCredentials
    fileprivate let callbacks: CallbackListeners.Change
  }

  /// Acquires what a new configuration needs: the credentials, and the addresses for callbacks.
  ///
  /// - Throws: The problems of the configuration. Nothing has changed then.
  func prepare(for config: Config) async throws(ConfigError) -> Preparation {
    let handed = await dependencies.blocking.run { [credentials] in
      credentials.readPassed()
    }
    guard handed.problems.isEmpty else { throw ConfigError(handed.problems) }
    do throws(CallbackListeners.ListenError) {
      let change = try await callbacks.prepare(for: config.providers)
      return Preparation(credentials: handed, callbacks: change)
    } catch {
      throw ConfigError([config.problem(error)])
    }
  }

  /// Applies a new configuration, and drops cached data about the providers that changed.
  ///
  /// - Parameter exchange: Replaces the configuration, and returns the changed providers.
  /// - Returns: The providers whose settings or credentials changed.
  func apply(
    _ preparation: Preparation, exchange: @escaping @Sendable () -> Set<ProviderName>
  ) async -> Set<ProviderName> {
    // Both are replaced in one step, so that no provider is used with the credentials of another
    // version of the configuration.
    let (others, names) = await processContext.betweenCalls {
      [credentials] in
      var others: Set<ProviderName> = []
      let names = credentials.install(preparation.credentials) { others = exchange() }
      return (others, names)
    }
    let changed = others.union(dependencies.config.providers(naming: names))
    let unused = callbacks.apply(preparation.callbacks)
    for listener in unused { await listener.close() }
    if !changed.isEmpty { await dependencies.configStore.notify(changed) }
    return changed
  }
}

extension Config {
  fileprivate func problem(_ failure: CallbackListeners.ListenError) -> ConfigProblem {
    let index = providers.firstIndex { $0.name == failure.provider }
    var message = failure.error.message
    if let cause = failure.error.cause as? IOError {
      message += ": \(String(cString: strerror(cause.errnoCode)))"
    }
    return problem(index.map { "provider[\($0)].callback_listen" } ?? "", message)
  }
}
