import UsherAPI
import UsherConfig
import UsherCore

/// The validated parameters that the flows `sca` and `operation` have in common.
struct SCARequest {
  let account: AccountID
  /// The verification that the caller requests; nil if the customer chooses.
  let wanted: PaysafeCall.Verification?
  let instructions: PaysafeCall.Instructions
  let operation: Operation?

  /// Validates the parameters.
  ///
  /// - Throws: `invalidParams` that names the wrong parameter.
  init(
    _ context: FlowContext<PaysafeSettings>, verification: PaysafeCall.Verification?,
    returnURL: String?, language: String?, operation: Operation?
  ) throws(UsherError) {
    account = try ParamsValidation.account(context)
    instructions = .init(
      language: try ParamsValidation.languageTag(
        language, "language", upTo: 35, such: "en or en-GB"),
      returnURL: try ParamsValidation.url(returnURL, "returnUrl"))
    wanted = verification
    self.operation = operation
    try checkVerification()
    try checkOperation()
  }

  static func identifier(_ text: String, _ name: String) throws(UsherError) -> String {
    guard text.isSCAIdentifier else {
      throw ParamsValidation.wrong(
        name, "must be text of at most 256 bytes without control characters, and not . or ..")
    }
    return text
  }

  private func checkVerification() throws(UsherError) {
    guard let wanted else { return }
    guard let option = SCAOption(requested: wanted) else {
      throw ParamsValidation.wrong("verification", "is not a supported verification")
    }
    guard option.form != .redirect || instructions.returnURL != nil else {
      throw ParamsValidation.wrong("returnUrl", "is missing: REDIRECT leads the browser back to it")
    }
  }

  /// Rejects a description that could deceive the customer who approves it, or harm a terminal.
  private func checkOperation() throws(UsherError) {
    guard let operation else { return }
    let members = [
      ("summary", operation.summary), ("amount", operation.amount), ("payee", operation.payee),
    ]
    for (name, text) in members {
      let shown = ProviderText.clean(text, limit: 256)
      guard !shown.isEmpty, shown.filter({ $0 != " " }) == text.filter({ $0 != " " }) else {
        throw ParamsValidation.wrong(
          "operation.\(name)", "must be text of at most 256 characters without control characters")
      }
    }
  }
}
