import Testing
import UsherAPI
import UsherCore
import UsherFlows

/// A flow under test, with its answer to the last event.
protocol DrivenMachine {
  associatedtype Machine: FlowMachine

  var flow: Machine { get }
  var last: Answer<Machine.Call> { get }
}

// The parts of the flow's view.
extension DrivenMachine {
  var state: String { flow.view.state }
  var problem: Problem? { flow.view.problem }

  var page: Step.OpenURL? {
    if case .openURL(let step) = flow.view.step { step } else { nil }
  }

  /// The query parameters of the page's URL.
  var query: [String: String] {
    let query = page?.url.split(separator: "?", maxSplits: 1).last ?? ""
    return Dictionary((FormEncoding.decode(query) ?? []).map { ($0.name, $0.value) }) { $0 + $1 }
  }

  var exchangeStep: Step.ExchangeCredential? {
    if case .exchangeCredential(let step) = flow.view.step { step } else { nil }
  }
}

// The parts of the last answer.
extension DrivenMachine {
  var effects: [Effect<Machine.Call>] {
    if case .proceed(let effects) = last { effects } else { [] }
  }

  var calls: [Machine.Call] {
    effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
  }

  var expectation: RedirectExpectation? {
    effects.compactMap { if case .listen(let expectation) = $0 { expectation } else { nil } }.first
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  var completion: Completion? { Machine.completion(in: last) }

  var grant: AccountGrant? { completion?.grant }

  var refusedField: String? {
    if case .refuse(let field, _) = last { field } else { nil }
  }
}
