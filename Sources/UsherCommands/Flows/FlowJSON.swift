import JSONRPC

extension JSONValue {
  /// A flow as it may be printed: the credential that a step hands over is not.
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
