import JSONRPC
import UsherCore
import UsherSandbox

/// A person at the provider's pages, who signs in, and allows or denies, and who receives messages
/// with codes.
final class Person {
  let simulator: Simulator
  let host: SandboxHost
  let outside: SimulatorExecutor
  var random: RandomStream

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

extension Person {
  /// Opens the page of a sign-in, some time later.
  ///
  /// - Parameter arrive: Takes the address to which the provider sends the browser.
  func open(_ url: String, of uid: UInt32, _ arrive: @escaping (String) -> Void) {
    guard random.chance(90) else { return }
    let account = random.pick(SandboxAccount.names(of: uid))
    let decision = random.chance(90) ? "allow" : "deny"
    let arrive = UncheckedSendable(arrive)
    simulator.after(random.duration(.seconds(1) ... .seconds(100))) { [self] in
      simulator.trace.note("\(account) opens the page of a sign-in: \(decision)")
      Task(executorPreference: outside) { [host] in
        let page = await host.handle(.get, url)
        let login = await host.submit(
          page.hiddenFields + [
            ("username", account), ("password", "password"), ("action", "login"),
          ], to: "/oidc/login")
        let end = await host.submit(
          login.hiddenFields + [("decision", decision)], to: "/oidc/consent")
        if let address = end.headers.first(where: { $0.0.lowercased() == "location" })?.1 {
          arrive.value(address)
        }
      }
    }
  }

  /// Reads the code of the newest message, some time later; now and then mistypes it.
  func readCode(sentTo target: String, _ arrive: @escaping (String) -> Void) {
    guard random.chance(90) else { return }
    let isMistyped = random.chance(15)
    let arrive = UncheckedSendable(arrive)
    simulator.after(random.duration(.seconds(1) ... .seconds(60))) { [self] in
      Task(executorPreference: outside) { [host, simulator] in
        let outbox = await host.handle(.get, "/_control/outbox?to=\(target)")
        let message = try? JSONValue(parsing: outbox.body)["messages"]?.arrayValue?.first
        simulator.trace.note("a message to \(target): \(message == nil ? "none" : "read")")
        guard let code = message?["code"]?.stringValue else { return }
        arrive.value(isMistyped ? String(code.reversed()) : code)
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
