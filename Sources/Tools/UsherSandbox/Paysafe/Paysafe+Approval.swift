extension Paysafe {
  /// The page behind a push notification, or behind a redirect.
  func approvalPage(_ call: Call) async -> Reply {
    guard let event = waitingEvent(call) else { return workbench.pages.expired() }
    return workbench.pages.render(
      "approval",
      [
        "action": call.path, "user": event.user.name,
        "summary": event.operation?.summary ?? "confirm that it is you",
      ])
  }

  /// Takes the decision; a redirect leads back, a push ends here.
  func approve(_ call: Call) async -> Reply {
    let now = workbench.clock.now()
    guard let form = try? call.postedForm(),
      let decision = form["decision"], ["approve", "deny"].contains(decision),
      let event = waitingEvent(call),
      let decided = events.decide(event.id, approve: decision == "approve", now: now)
    else { return workbench.pages.expired() }
    let approved = decision == "approve"
    guard let returnURL = decided.challenge.returnURL else {
      return workbench.pages.message(
        title: approved ? "Approved" : "Denied", text: "You can close this window.", status: 200)
    }
    let status: PaysafeSettings.RedirectStatus =
      settings.redirectStatus == .decision
      ? (approved ? .success : .fail) : settings.redirectStatus
    return .redirect(to: returnURL.text, adding: ["status": .string(status.rawValue)])
  }

  /// The event whose challenge is in the path, if its kind is the one of the path.
  private func waitingEvent(_ call: Call) -> ScaEvent? {
    let now = workbench.clock.now()
    let kind: Verification.Kind =
      call.path.hasPrefix("\(Self.path)/push/") ? .push : .redirect
    guard let event = events.event(ofChallenge: call.parameters["challengeId"], now: now),
      event.openChallenge(at: now)?.verification.kind == kind
    else { return nil }
    return event
  }
}
