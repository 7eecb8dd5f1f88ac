import UsherCore
import UsherSandbox

/// A person at the provider's pages: enters the code of a device flow, signs in, and allows or
/// denies.
final class Person {
  private let simulator: Simulator
  private let host: SandboxHost
  private let outside: SimulatorExecutor
  private var random: RandomStream

  init(_ simulator: Simulator, _ host: SandboxHost) {
    self.simulator = simulator
    self.host = host
    outside = SimulatorExecutor(simulator)
    random = RandomStream(seed: simulator.seed, for: "person")
  }

  /// Enters a code some time later, as one of the accounts of a user; one in ten never does.
  func enter(_ code: String, of uid: UInt32) {
    guard random.chance(90) else { return }
    let account = random.pick(SandboxAccount.names(of: uid))
    let decision = random.chance(90) ? "allow" : "deny"
    simulator.after(random.duration(.seconds(1) ... .seconds(100))) { [self] in
      simulator.trace.note("\(account) enters a code: \(decision)")
      Task(executorPreference: outside) { [host] in
        let page = await host.handle(.get, "/oidc/device")
        let login = await host.submit(
          page.hiddenFields + [
            ("username", account), ("password", "password"), ("action", "login"),
            ("user_code", code),
          ], to: "/oidc/login")
        _ = await host.submit(
          login.hiddenFields + [("decision", decision)], to: "/oidc/consent")
      }
    }
  }
}

extension Reply {
  /// The hidden fields of the forms of the sandbox's pages.
  fileprivate var hiddenFields: [(String, String)] {
    let text = String(decoding: body, as: UTF8.self)
    return ["transaction", "csrf"].compactMap { name in
      guard let start = text.firstRange(of: "name=\"\(name)\" value=\"")?.upperBound,
        let end = text[start...].firstIndex(of: "\"")
      else { return nil }
      return (name, String(text[start..<end]))
    }
  }
}
