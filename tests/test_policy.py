"""The settings as the use case takes them."""

from typing import get_args

import pytest

from pinch_server.policy import counter_of, policy_of
from pinch_server.settings import Settings, to_limits


def test_the_policy_is_what_the_settings_say() -> None:
    """Limits, switch and fingerprint are those of the settings, and the key is the one given."""
    settings = Settings(budget_tokens=7_000, enabled=False)
    policy = policy_of(settings, b"key")
    assert policy.limits == to_limits(settings)
    assert policy.limits.budget_tokens == 7_000
    assert not policy.is_enabled
    assert policy.fingerprint == settings.fingerprint()
    assert policy.session_key == b"key"


@pytest.mark.parametrize("name", get_args(Settings.model_fields["counting"].annotation))
def test_every_estimate_of_the_settings_exists(name: str) -> None:
    """Each legal value of `counting` has its estimate, which the reply calls by the same name."""
    assert counter_of(Settings(counting=name)).method == name
