import JSONRPC

extension JSONValue {
  /// The reply for printing: the step's code verifier and credential code read `<secret>`.
  var withoutStepSecrets: JSONValue {
    var reply = self
    let step = self["flow"]?["step"]
    if step?["codeVerifier"] != nil { reply["flow"]?["step"]?["codeVerifier"] = "<secret>" }
    if step?["credential"]?["code"] != nil {
      reply["flow"]?["step"]?["credential"]?["code"] = "<secret>"
    }
    return reply
  }
}
