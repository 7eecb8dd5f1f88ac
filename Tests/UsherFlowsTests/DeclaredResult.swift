import JSONRPC
import Testing
import UsherAPI
import UsherFlows
import UsherTestKit

extension FlowMachine {
  /// Returns the completion of a flow that has just succeeded; nil if the answer is another one.
  /// Records an issue if the result is not as the machine declares it in `resultMembers`.
  static func completion(
    in answer: Answer<Call>, sourceLocation: SourceLocation = #_sourceLocation
  ) -> Completion? {
    guard case .finish(let completion) = answer else { return nil }
    var result = completion.result
    // The flow engine adds the account's id to the result.
    if completion.grant != nil { result["account"] = "acc_1" }
    let complaints = Schema.object(resultMembers).complaints(about: .object(result), at: "result")
    #expect(complaints == [], "\(Self.self)", sourceLocation: sourceLocation)
    return completion
  }
}
