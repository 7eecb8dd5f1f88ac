import JSONRPC

extension JSONValue {
  /// The reply for printing: the step's code verifier and credential code read `<secret>`.
  var withoutStepSecrets: JSONValue {
    guard var flow = self["flow"], var step = flow["step"], step.objectValue != nil else {
      return self
    }
    if step["codeVerifier"] != nil { step["codeVerifier"] = "<secret>" }
    if var credential = step["credential"], credential["code"] != nil {
      credential["code"] = "<secret>"
      step["credential"] = credential
    }
    flow["step"] = step
    var reply = self
    reply["flow"] = flow
    return reply
  }
}
