import FoundationEssentials
import JSONRPC
import UsherAPI
package import UsherConfig
import UsherCore
package import UsherFlows

/// A flow that was driven into one of its states.
package struct DrivenFlow<Machine: FlowMachine> {
  package var name: String
  package var machine: Machine
  /// Events that can reach a flow in this state but do not concern it, so it must ignore them.
  package var unrelatedEvents: [FlowEvent<Machine.Call>]

  package init(_ name: String, _ machine: Machine, unrelatedEvents: [FlowEvent<Machine.Call>]) {
    self.name = name
    self.machine = machine
    self.unrelatedEvents = unrelatedEvents
  }
}

/// Checks the guarantees that the flow engine needs, in every given state of a flow.
///
/// - The state can be encoded with the sealing coder, and after decoding encodes to the same bytes.
/// - No secret of `secrets` is in the output of a plain coder, a description, a dump, the view
///   outside of its step, or a failure.
/// - Unrelated events are ignored; an event that is ignored or refused does not change the state.
/// - After a restart the flow does not wait for an event that never comes.
/// - A URL for a browser is http or https.
///
/// - Parameters:
///   - secrets: Every secret that was used while the flows were driven.
///   - known: The table in which the coders put the flows' providers. Only providers of a type that
///     `ProviderType` does not list need one, because their settings cannot be decoded without it.
/// - Returns: A sentence for each broken guarantee.
package func checkProviderContract<Machine: FlowMachine>(
  _ flows: [DrivenFlow<Machine>], secrets: [String], at context: TransitionContext,
  known: KnownProviders? = nil
) -> [String] {
  var broken: [String] = []
  let isWord = Machine.kind.first?.isLowercase ?? false
  if !isWord || !Machine.kind.allSatisfy({ $0.isLetter }) {
    broken.append("the kind is not a word in lower case")
  }
  if Machine.summary.isEmpty { broken.append("the summary is empty") }
  if case .object = StrictDecoding.schema(of: Machine.Params.self) {
  } else {
    broken.append("the schema of the parameters is not an object")
  }
  for flow in flows {
    let check = ContractCheck(flow: flow, secrets: secrets, context: context, known: known)
    broken += check.all.map { "\(flow.name): \($0)" }
  }
  return broken
}

private struct ContractCheck<Machine: FlowMachine> {
  let flow: DrivenFlow<Machine>
  let secrets: [String]
  let context: TransitionContext
  let known: KnownProviders?

  var all: [String] { coding + secrecy + viewing + unrelatedEvents + resuming + anyEvent }

  private var coding: [String] {
    do {
      let once = try coder(sealed: true).encode(flow.machine)
      let decoder = JSONDecoder()
      decoder.userInfo[.sealedStorage] = true
      decoder.userInfo[.knownProviders] = known
      let again = try coder(sealed: true).encode(decoder.decode(Machine.self, from: once))
      return once == again ? [] : ["the state encodes to other bytes after decoding"]
    } catch {
      return ["the state cannot be encoded and decoded: \(error)"]
    }
  }

  private var secrecy: [String] {
    var dumped = ""
    dump(flow.machine, to: &dumped)
    let shown = [
      "a description": String(describing: flow.machine),
      "a debug description": String(reflecting: flow.machine),
      "a dump": dumped,
      "plain storage": written(flow.machine),
    ]
    return shown.sorted { $0.key < $1.key }.flatMap { leaks($0.value, in: $0.key) }
  }

  private var viewing: [String] {
    var view = flow.machine.view
    var broken: [String] = []
    if view.state.isEmpty { broken.append("the view has no state") }
    switch view.step {
    case .openURL(let step):
      if !step.url.hasPrefix("https://"), !step.url.hasPrefix("http://") {
        broken.append("the URL for the browser is not http or https")
      }
      view.step = .wait(.init(for: ""))
    case .exchangeCredential: view.step = .wait(.init(for: ""))
    case .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent, .localAuth, .wait:
      break
    }
    return broken + leaks(written(view), in: "the view")
  }

  private var unrelatedEvents: [String] {
    flow.unrelatedEvents.compactMap { event in
      var machine = flow.machine
      var context = context
      let answer = machine.receive(event, at: &context)
      return answer == .ignore && machine == flow.machine
        ? nil : "an unrelated event is not ignored: \(event)"
    }
  }

  private var resuming: [String] {
    var machine = flow.machine
    var context = context
    switch machine.receive(.daemon(.resumed), at: &context) {
    case .proceed(let effects):
      return effects.isEmpty && isWaiting(machine) ? ["the flow waits forever after a restart"] : []
    case .ignore:
      return isWaiting(machine) ? ["the flow waits forever after a restart"] : []
    case .refuse: return ["the event of a restart is refused"]
    case .finish, .fail: return []
    }
  }

  private func isWaiting(_ machine: Machine) -> Bool {
    switch machine.view.step {
    case .wait, .displayCode: true
    case .openURL, .enterCode, .enterPassword, .choose, .fillForm, .consent, .exchangeCredential,
      .localAuth:
      false
    }
  }

  /// Checks events that can arrive at any time.
  private var anyEvent: [String] {
    let events: [FlowEvent<Machine.Call>] = [
      .input(.redirect(url: Secret(""))), .input(.redirect(url: Secret("http://[::1"))),
      .browser(.redirected(AuthorizationResponse())),
      .browser(.redirected(AuthorizationResponse(error: ""))),
      .browser(.listening(redirectURI: "")), .browser(.listenFailed("")),
      .provider(.discovered(.unreachable(message: "gone"))),
      .provider(.discovered(.unusable(message: "bad"))),
      .provider(.idTokenVerified(.genuine(payload: []))),
      .provider(.idTokenVerified(.refused(message: "bad"))),
      .provider(.idTokenVerified(.unreachable(message: "gone"))),
      .woken, .daemon(.resumed),
    ]
    return events.flatMap { event -> [String] in
      var machine = flow.machine
      var context = context
      switch machine.receive(event, at: &context) {
      case .ignore, .refuse:
        return machine == flow.machine
          ? [] : ["an ignored or refused event changes the state: \(event)"]
      case .fail(let failure, cleanUp: _):
        let isComplete = !failure.title.isEmpty && !failure.message.isEmpty
        return (isComplete ? [] : ["a failure has no title or no message"])
          + leaks(written(failure), in: "a failure")
      case .proceed, .finish: return []
      }
    }
  }

  private func leaks(_ text: String, in place: String) -> [String] {
    secrets.contains { !$0.isEmpty && text.contains($0) } ? ["a secret is in \(place)"] : []
  }

  /// The output of a coder that does not seal; empty if it throws.
  private func written(_ value: some Encodable) -> String {
    guard let data = try? coder(sealed: false).encode(value) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  private func coder(sealed: Bool) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if sealed { encoder.userInfo[.sealedStorage] = true }
    encoder.userInfo[.knownProviders] = known
    return encoder
  }
}
